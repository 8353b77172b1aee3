import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import type { ClientFormat } from '../base/client-formats.ts'
import { fullRun, formats as upstreams } from '../base/recorded-traffic.ts'
import { parsingServers, prefixedServers, type ServerKind, servers } from '../base/servers.ts'
import { type Case, createSdkFixture, type SdkFixture } from './context.ts'
import { finishCases } from './finish-cases.ts'
import { mediaCases } from './media-cases.ts'
import { thinkingCases } from './thinking-cases.ts'

/** OpenAI's current models, one for each kind of restriction. */
const currentModels = ['gpt-6-astra', 'gpt-6-sol', 'gpt-5.6-terra', 'gpt-5.4', 'gpt-5.2-codex', 'o3']

/** At their root, hosts own the paths of Ollama. */
const serversFor = (client: ClientFormat): readonly ServerKind[] =>
  client === 'ollama'
    ? [...servers.filter(({ hosted }) => !hosted), ...prefixedServers]
    : [...servers, ...parsingServers]

/** On these servers, each case runs with upstreams of every format. */
const withEveryUpstream = new Set(fullRun ? ['node:http', 'in process'] : ['in process'])

/**
 * Selects the cases for a server and an upstream. Servers do not depend on the upstream's format, so the other servers
 * run each case with one rotating upstream. Rare cases do not depend on the server at all.
 */
const casesOn = (cases: readonly Case[], name: string, server: number, upstream: number): readonly Case[] =>
  withEveryUpstream.has(name)
    ? cases
    : cases.filter(({ rare }, at) => rare !== true && (at + server) % upstreams.length === upstream)

/**
 * Runs one official client on every server: its own cases and those of all clients. One file per client, so that they
 * run in parallel. Returns a function that summarises the run.
 */
export function runSuite(name: string, client: ClientFormat, own: readonly Case[]): () => string {
  const cases = [...own, ...thinkingCases(client), ...finishCases(client), ...mediaCases(client)]
  const all = serversFor(client)
  let passed = 0
  for (const [serverAt, server] of all.entries())
    describe.each(upstreams)(`${name} on ${server.name}, upstream %s`, (upstream) => {
      let setting: SdkFixture
      beforeAll(async () => {
        setting = await createSdkFixture(server, upstream)
      })
      afterAll(() => setting.close())
      // State left at the upstream would affect the next case.
      afterEach(() => setting.fake.reset())

      test.each(casesOn(cases, server.name, serverAt, upstreams.indexOf(upstream)))('$name', async ({ run }) => {
        await run(setting)
        passed++
      })
    })
  return () => `sdk: ${name}: ${passed} cases passed, ${all.length} servers × ${upstreams.length} formats`
}

/** Runs the same cases against OpenAI's current models, with a fake provider that enforces their restrictions. */
export function runCurrentModels(name: string, client: ClientFormat, own: readonly Case[]): void {
  const cases = [...own, ...thinkingCases(client), ...finishCases(client), ...mediaCases(client)]
  const [server] = servers.filter(({ name }) => name === 'in process')
  if (server === undefined) throw new Error('no server in process')
  describe.each(currentModels)(`${name}, Responses upstream of OpenAI, model %s`, (model) => {
    // Without MODELGATE_FULL=1 each case runs with every second model.
    const turn = currentModels.indexOf(model) % 2
    let setting: SdkFixture
    beforeAll(async () => {
      setting = await createSdkFixture(server, 'responses', model)
    })
    afterAll(() => setting.close())
    afterEach(() => setting.fake.reset())

    test.each(cases.filter((_, at) => fullRun || at % 2 === turn))('$name', ({ run }) => run(setting))
  })
}
