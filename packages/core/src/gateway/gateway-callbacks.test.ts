import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Plugin } from '../config/plugin.ts'
import { asJson, completion, generated, message, setUp } from './create-gateway.test-support.ts'

// packages/conformance/src/torture/callbacks tests the full matrix of functions and behaviours.

const answers = { a: asJson(completion), b: asJson(completion), m: asJson(message), g: asJson(generated) }
const image = { type: 'image_url', image_url: { url: 'https://images.test/a.png' } }
const withImage = { model: 'gemini-x', messages: [{ role: 'user', content: [image] }] }
const withText = { model: 'real', messages: [{ role: 'user', content: 'hi' }] }
const fail = (): Promise<never> => Promise.reject(new Error('rejected'))
const never = new Promise<never>(() => {})

let unhandled: unknown[] = []
const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
beforeEach(() => {
  unhandled = []
  process.on('unhandledRejection', onUnhandled)
})
afterEach(() => {
  process.off('unhandledRejection', onUnhandled)
})
const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))

describe('an async function in place of a predicate', () => {
  it.each([
    ['fetches no media when media.allows resolves to false', async () => false, 0],
    ['awaits media.allows and fetches the media when it resolves to true', async () => true, 1],
    ["fetches no media when media.allows resolves to 'yes'", async () => 'yes', 0],
  ])('%s', async (_, allows, count) => {
    const fetched: string[] = []
    const fetch = async (url: URL) => {
      fetched.push(url.href)
      return { bytes: new Uint8Array(4), mediaType: 'image/png' }
    }
    const { chat } = setUp(answers, { media: { allows: allows as () => Promise<boolean>, fetch } })
    expect((await chat(withImage)).status).toBe(200)
    expect(fetched).toHaveLength(count)
  })

  it.each([async () => false, async () => true])('skips a target whose `when` returns a promise: %s', async (when) => {
    const models = { real: [{ upstream: 'b', when: when as unknown as () => boolean }, 'a'] }
    const { chat, seen, logged } = setUp(answers, { models })
    expect((await chat()).status).toBe(200)
    expect(seen.map(({ url }) => new URL(url).host)).toEqual(['a'])
    expect(JSON.stringify(logged)).toContain('returned a promise, which counts as false')
  })
})

describe('a rejected promise of a host function', () => {
  it('never causes an unhandled rejection', async () => {
    const models = { real: [{ upstream: 'b', when: fail as unknown as () => boolean }, 'a'], 'gemini*': 'g' }
    const { chat, post } = setUp(answers, {
      models,
      logger: { warn: fail, error: fail },
      explain: fail,
      health: { read: fail as never, write: fail as never },
      breaker: {},
      media: { allows: fail as never, fetch: fail },
      plugins: [
        { name: 'all', onStart: fail as never, onRequest: fail as never, onUpstream: fail as never, onFinish: fail },
      ],
    })
    expect((await chat()).status).toBe(200)
    expect((await chat(withImage)).status).toBe(200)
    const explained = await post('/v1/chat/completions?modelgate=explain', withText)
    expect(explained.status).toBe(500)
    await turns()
    expect(unhandled).toEqual([])
  })
})

describe('a host function that never settles', () => {
  it.each<[string, Plugin['admit'] | undefined]>([
    ['auth', undefined],
    ["admit of plugin 'gate'", () => never],
  ])('%s times out with a 500 and only the log gives the reason', async (name, admit) => {
    const { chat, logged, seen } = setUp(answers, {
      limits: { callbackMs: 10 },
      ...(admit === undefined ? { auth: () => never } : { plugins: [{ name: 'gate', admit }] }),
    })
    const response = await chat()
    expect(response.status).toBe(500)
    expect(await response.text()).not.toMatch(/settle|callbackMs|gate'/)
    expect(String(logged.flat()[1])).toContain(`${name} did not settle within 10 ms`)
    expect(seen).toEqual([])
  })

  it('does not hold a call whose client has disconnected', async () => {
    const leaving = new AbortController()
    const { chat, finished } = setUp(answers, {
      plugins: [
        { name: 'gate', admit: () => never },
        { name: 'end', onFinish: (event) => void finished.push(event) },
      ],
    })
    const call = chat({}, {}, { signal: leaving.signal })
    setTimeout(() => leaving.abort(), 5)
    await call.catch(() => undefined)
    expect(finished).toMatchObject([{ outcome: 'aborted' }])
  })

  it('settles an admission that resolves after the call ended', async () => {
    const settled: unknown[] = []
    const admit = async () => {
      await new Promise((resolve) => setTimeout(resolve, 40))
      return { settle: (event: unknown) => void settled.push(event) }
    }
    const { chat } = setUp(answers, { limits: { callbackMs: 5 }, plugins: [{ name: 'gate', admit }] })
    expect((await chat()).status).toBe(500)
    expect(settled).toEqual([])
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(settled).toMatchObject([{ outcome: 'failed', status: 500 }])
  })
})
