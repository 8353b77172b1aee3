import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, test } from 'vitest'
import { formatNames, type ScoredFormat } from './check.ts'
import { checks, nameOf } from './checks.ts'
import { help } from './command.ts'
import { defects } from './defects/all-defects.ts'
import { type Defect, goodToken as token, withDefect } from './defects/defect.ts'
import type { Report } from './report.ts'
import { ScoreError, type ScoreOptions, score } from './score.ts'

const models = {
  embedding: 'demo-embedding',
  image: 'demo-image',
  transcription: 'demo-transcribe',
  speech: 'demo-speech',
  rerank: 'demo-rerank',
}

/** Scores a fake provider that behaves like the real ones, except for one defect. */
async function scored(
  spoil: Omit<Defect, 'name' | 'failed'> = {},
  options: Partial<ScoreOptions> = {},
): Promise<Report> {
  const brain = spoil.model === undefined ? {} : { brain: spoil.model }
  const provider = createFakeProvider({ apiKey: token, models: ['demo', ...Object.values(models)], ...brain })
  return score({
    url: 'http://provider.test/v1',
    token,
    model: 'demo',
    models,
    retries: 0,
    timeoutMs: 20_000,
    concurrency: 1,
    fetch: withDefect(provider.fetch as typeof fetch, spoil),
    ...options,
  })
}
const namesOf = (report: Report, verdict: string): string[] =>
  report.results.filter((result) => result.verdict === verdict).map(({ name }) => name)

const all = checks.map(nameOf)
/** Expands the format `*` to every generation format that has the feature. */
const expanded = (names: readonly string[]): string[] =>
  names
    .flatMap((name) =>
      name.startsWith('*/')
        ? all.filter((one) => /^(chat|messages|gemini|responses)\//.test(one) && one.endsWith(name.slice(1)))
        : [name],
    )
    .sort()

describe('score of a provider without defects', () => {
  test('passes all checks', async () => {
    const seen: number[] = []
    const report = await scored({}, { concurrency: 4, onResult: (_, done) => seen.push(done) })
    expect(report.results.flatMap(({ name, why }) => (why === undefined ? [] : [`${name}: ${why}`]))).toEqual([
      expect.stringMatching(/^realtime\/session: no realtime model/),
      expect.stringMatching(/^realtime\/wrong-token: no realtime model/),
    ])
    expect(report).toMatchObject({
      score: 100,
      passed: all.length - 2,
      total: all.length - 2,
      url: 'http://provider.test',
    })
    expect(report.results.map(({ name }) => name)).toEqual(all)
    expect(seen).toEqual(all.map((_, index) => index + 1))
    const share = report.formats.find(({ format }) => format === 'embeddings')
    expect(share).toEqual({ format: 'embeddings', title: 'embeddings', passed: 6, total: 6, notServed: 0, skipped: 0 })
    expect(JSON.stringify(report)).not.toContain(token)
  })

  test('makes at most the number of calls that each check declares', async () => {
    for (const check of checks.filter(({ needs }) => needs !== 'realtime'))
      expect(check.calls, nameOf(check)).toBeGreaterThan(0)
    const report = await scored()
    const most = checks.reduce((sum, { calls }) => sum + calls, 0)
    // One additional call lists the models first.
    expect(report.calls).toBeLessThanOrEqual(most + 1)
    expect(report.calls).toBeGreaterThan(checks.length)
    expect(help).toContain(`${checks.length} checks make at most ${most} calls`)
  })
})

test('gives every check a unique name and a sentence that it proves', () => {
  expect(new Set(all).size).toBe(all.length)
  for (const { proves } of checks) expect(proves).toMatch(/^[A-Z].{20,}\.$/)
})

/** Returns the formats of these checks. */
const formatsOf = (names: readonly string[]): ScoredFormat[] =>
  formatNames.filter((format) => names.some((name) => name.startsWith(`${format}/`)))

describe('detection of a defect by exactly its checks', () => {
  test.each(defects)('fails exactly the expected checks if $name', async (spoil) => {
    const failed = expanded(spoil.failed)
    const report = await scored(spoil, { only: formatsOf(failed) })
    expect(namesOf(report, 'failed').sort()).toEqual(failed)
    expect(namesOf(report, 'not served').sort()).toEqual(expanded(spoil.notServed ?? []))
  })

  test('covers every check with at least one defect', () => {
    const noticed = new Set(defects.flatMap(({ failed }) => expanded(failed)))
    // Sessions need a socket and have their own test.
    expect(all.filter((name) => !noticed.has(name))).toEqual(['realtime/session', 'realtime/wrong-token'])
  })
})

describe('features that are not served', () => {
  test('do not count, per format', async () => {
    const gone = (path: string): boolean => /messages|embeddings/.test(path)
    const reply = (answer: Response, path: string): Response =>
      gone(path) ? Response.json({ detail: 'Not Found' }, { status: 404 }) : answer
    const report = await scored({ replaceResponse: reply })
    expect(namesOf(report, 'failed')).toEqual([])
    const behind = ['models/list-for-Anthropic', 'models/pages-for-Anthropic', 'tokens/for-messages']
    expect(namesOf(report, 'not served')).toEqual(
      all.filter((name) => /^(messages|embeddings)\//.test(name) || behind.includes(name)),
    )
    expect(report.score).toBe(100)
  })

  test('are recognised by an error message in words', async () => {
    const reply = (answer: Response, path: string): Response =>
      path.endsWith('/messages')
        ? Response.json({ message: 'messages is not supported here' }, { status: 500 })
        : answer
    const report = await scored({ replaceResponse: reply }, { only: ['chat', 'messages'] })
    expect(report.formats.map(({ total, notServed }) => [total, notServed])).toEqual([
      [40, 0],
      [0, 36],
    ])
  })

  test('do not include missing models', async () => {
    const report = await scored({}, { only: ['chat'], model: 'no-demo' })
    expect(report.passed).toBeLessThan(report.total / 2)
    expect(report.results.find(({ name }) => name === 'chat/text')).toMatchObject({
      verdict: 'failed',
      why: expect.stringContaining('404: The model `no-demo` does not exist'),
    })
    expect(namesOf(report, 'not served')).toEqual([])
  })

  test('include fields that are rejected by name or reported as lost', async () => {
    const refusing: typeof fetch = async (input, init) => {
      const provider = createFakeProvider({ apiKey: token })
      const body = JSON.parse(String(init?.body ?? '{}'))
      if ('n' in body) return Response.json({ error: { message: "'n' is not supported", param: 'n' } }, { status: 400 })
      const { logprobs, top_logprobs: _, ...rest } = body
      const answer = await provider.fetch(String(input), {
        ...init,
        ...(init?.body ? { body: JSON.stringify(rest) } : {}),
      })
      if (logprobs) answer.headers.set('some-loss', '"/seed";kind=x, "/logprobs";kind=y')
      return answer
    }
    const { results } = await scored({}, { only: ['chat'], fetch: refusing })
    const why = (feature: string) => results.find(({ name }) => name === `chat/${feature}`)?.why
    expect([why('choices'), why('logprobs')]).toEqual([
      "rejected, 400: 'n' is not supported",
      'reported as lost: some-loss: "/logprobs";kind=y',
    ])
  })
})

describe('score of a server', () => {
  test('that is busy retries the check up to the configured number', async () => {
    const passed = async (retries: number): Promise<number> => {
      let busy = true
      const reply = (answer: Response, path: string): Response => {
        if (!busy || !path.endsWith('/rerank')) return answer
        busy = false
        return new Response('{}', { status: 503, headers: { 'retry-after': '0.01' } })
      }
      return (await scored({ replaceResponse: reply }, { only: ['rerank'], retries })).passed
    }
    expect([await passed(0), await passed(1)]).toEqual([1, 2])
  })

  test('that is busy ends at once when the run is aborted', async () => {
    const end = new AbortController()
    const reply = (answer: Response, path: string): Response => {
      if (!path.endsWith('/rerank')) return answer
      // Aborts after the wait has begun.
      setTimeout(() => end.abort(new Error('enough')), 20)
      return new Response('{}', { status: 503, headers: { 'retry-after': '30' } })
    }
    const pending = scored({ replaceResponse: reply }, { only: ['rerank'], retries: 1, signal: end.signal })
    await expect(pending).rejects.toThrow('enough')
  })

  test('that authenticates by another header skips checks of wrong tokens', async () => {
    const report = await scored({}, { only: ['chat'], headers: { Authorization: `Bearer ${token}` } })
    expect(namesOf(report, 'skipped')).toEqual(['chat/wrong-token'])
    expect(report.score).toBe(100)
  })

  test('that rejects the token ends at once', async () => {
    const calls: string[] = []
    const provider = createFakeProvider({ apiKey: 'another' })
    const fetch = ((input, init) => {
      calls.push(String(input))
      return provider.fetch(String(input), init)
    }) as typeof globalThis.fetch
    await expect(scored({}, { fetch, only: ['chat', 'messages'] })).rejects.toThrow(
      /^The server rejects this token \(chat\/text, 401: Incorrect API key provided/,
    )
    expect(calls.length).toBeLessThan(5)
  })

  test('that never responds fails its checks at the time limit', async () => {
    const silent: typeof fetch = async (input, init) => {
      const signal = init?.signal
      if (!String(input).endsWith('/rerank')) return Response.json({ data: [] })
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    const { results } = await scored({}, { only: ['rerank'], fetch: silent, timeoutMs: 50 })
    expect(results.map(({ why }) => why)).toEqual([
      'no response within 0.05 seconds',
      'no response within 0.05 seconds',
    ])
  })

  test('that echoes requests does not leak the token into the report', async () => {
    const parrot: typeof fetch = async (_input, init) =>
      Response.json({ error: { message: `odd: ${new Headers(init?.headers).get('authorization')}` } }, { status: 418 })
    const report = await scored({}, { only: ['chat', 'models'], fetch: parrot })
    expect(report.passed).toBe(0)
    expect(report.results[0]?.why).toBe('418: odd: Bearer ***')
    expect(JSON.stringify(report)).not.toContain(token)
  })

  test.each([
    [
      'is unreachable',
      { fetch: undefined, url: 'http://127.0.0.1:2' },
      /Cannot reach http:\/\/127.0.0.1:2: .*ECONNREFUSED/,
    ],
    ['has an invalid URL', { url: 'localhost:8787' }, /Expected a URL that begins with http/],
    [
      'rejects the list of models',
      { model: undefined, token: 'bad' },
      /^Missing model: pass the name of a model\. The model list was rejected \(401/,
    ],
    [
      'has models, none of which was chosen,',
      { model: undefined },
      /Missing model: pass the name of a model\. It lists demo, demo-embedding, /,
    ],
  ])('that %s throws a ScoreError', async (_, options, message) => {
    const error = await scored({}, options as Partial<ScoreOptions>).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ScoreError)
    expect(error.message).toMatch(message)
  })

  test('without a token skips checks of wrong tokens', async () => {
    const provider = createFakeProvider()
    const report = await score({
      url: 'http://provider.test',
      model: 'demo',
      fetch: provider.fetch as typeof fetch,
      only: ['chat'],
    })
    expect(namesOf(report, 'skipped')).toEqual(['chat/wrong-token'])
  })
})

test('finds models for other operations in the list', async () => {
  const names = [
    'gpt-5',
    'text-embedding-3-small',
    'whisper-1',
    'tts-1',
    'dall-e-3',
    'rerank-v3.5',
    'gpt-realtime-whisper',
    'gpt-realtime',
  ]
  const provider = createFakeProvider({ models: names })
  const { models: found } = await score({
    url: 'http://x.test',
    model: 'gpt-5',
    fetch: provider.fetch as typeof fetch,
  })
  expect(found).toEqual({
    text: 'gpt-5',
    completion: 'gpt-5',
    embedding: 'text-embedding-3-small',
    image: 'dall-e-3',
    transcription: 'whisper-1',
    speech: 'tts-1',
    rerank: 'rerank-v3.5',
    realtime: 'gpt-realtime',
  })
})
