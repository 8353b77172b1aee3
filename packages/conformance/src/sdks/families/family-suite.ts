import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { formats as upstreams } from '../../base/recorded-traffic.ts'
import { servers } from '../../base/servers.ts'
import { type Case, createSdkFixture, type SdkFixture } from '../context.ts'

/** The official client of a family of endpoints, with its cases. */
export interface Family {
  /** The npm package. */
  readonly package: string
  /** The client, and the paths that it uses. */
  readonly name: string
  readonly cases: readonly Case[]
  /** Replaces the clients of a fixture by those of the family. */
  readonly clients?: (setting: SdkFixture) => Partial<SdkFixture>
}

const loopback = servers.find(({ name }) => name === 'node:http')

/**
 * Runs the cases of a family's client over loopback with upstreams of every format. The families share the handlers of the formats, which
 * are tested on every server.
 */
export function runFamily({ name, cases, clients }: Family): void {
  if (loopback === undefined) throw new Error('no server on node:http')
  let passed = 0
  describe.each(upstreams)(`${name}, upstream %s`, (upstream) => {
    let setting: SdkFixture
    let close: () => Promise<void>
    beforeAll(async () => {
      const fixture = await createSdkFixture(loopback, upstream)
      setting = { ...fixture, ...clients?.(fixture) }
      close = () => fixture.close()
    })
    afterAll(() => close())
    afterEach(() => setting.fake.reset())

    test.each(cases)('$name', async ({ run }) => {
      await run(setting)
      passed++
    })
  })
  afterAll(() => console.log(`sdk: ${name}: ${passed} cases passed, ${upstreams.length} formats`))
}

/** Returns cases without those that a client lacks. Fails if there is none of a name: then the name is obsolete. */
export function without(cases: readonly Case[], ...names: readonly string[]): readonly Case[] {
  for (const name of names)
    expect(
      cases.some((one) => one.name.startsWith(name)),
      name,
    ).toBe(true)
  return cases.filter((one) => !names.some((name) => one.name.startsWith(name)))
}
