import { routes } from '@modelgate/core/test-support'
import { describe, expect, test } from 'vitest'
import { isClientFormat } from '../../base/client-formats.ts'
import { parseJson } from '../../base/json.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { allCases, plainCalls } from './cases.ts'
import { growingText, placesOf } from './places.ts'
import { familyOf, sample, shortShares } from './sample.ts'
import { createSubject } from './subject.ts'
import { generating } from './targets.ts'
import { complaintOf, countValues, exponentOf, msPerMb, type Point } from './verdict.ts'

const cases = allCases()
const all = [...cases.values()]
const sampled = sample(cases, shortShares)

/** Converts counted steps of a function of n to costs of n bytes each. */
const counted = (steps: (n: number) => number, sizes: readonly number[] = [250_000, 500_000, 1_000_000]): Point[] =>
  sizes.map((bytes) => ({ bytes, cost: steps(bytes) }))

/** Looks each of n names up among the previous ones: one by one, or with a set. */
function stepsOfLookups(n: number, linear: boolean): number {
  const names = Array.from({ length: n }, (_, at) => `name ${at}`)
  const known = new Set<string>()
  let steps = 0
  names.forEach((name, at) => {
    if (linear) steps++
    else
      names.slice(0, at).find((other) => {
        steps++
        return other === name
      })
    known.add(name)
  })
  return steps
}

describe('verdict on costs', () => {
  test('finds the exponent 2 of a quadratic function and 1 of a linear one by their steps', () => {
    const sizes = [100, 200, 400]
    const points = (linear: boolean): Point[] => counted((n) => stepsOfLookups(n, linear), sizes)
    expect(exponentOf(points(false))).toBeCloseTo(2, 1)
    expect(exponentOf(points(true))).toBeCloseTo(1, 5)
  })

  test('rejects only quadratic costs and costs beyond the budget', () => {
    expect(complaintOf(counted((n) => (n / 50_000) ** 2))).toBe('exponent 2.00')
    expect(complaintOf(counted((n) => n / 5000))).toBeUndefined()
    expect(complaintOf(counted((n) => n * 0.002))).toBe('2000 ms of CPU per MB')
    // Fixed costs of a small call do not count, nor does the exponent of times too short to measure.
    expect(complaintOf(counted((n) => (n / 1_000_000) ** 2))).toBeUndefined()
  })

  test('ignores the exponent of growth that ends at a limit', () => {
    const points = [1000, 1001, 1002].map((bytes, at) => ({ bytes, cost: 100 + 50 * at }))
    expect(complaintOf(points, { exponent: 1.3, msPerMb: 1e9, leastMs: 25 })).toBeUndefined()
    expect(msPerMb(points)).toBe(20_000)
  })

  test('counts a body of many small values as more bytes', () => {
    const empties = `[${'{},'.repeat(99_999)}{}]`
    const values = countValues(empties)
    expect(values).toBe(100_000)
    expect(countValues('{"a":"x, y, [\\" z","b":[1,{}]}')).toBe(4)
    expect(msPerMb([{ bytes: empties.length, values, cost: 2000 }])).toBe(1000)
  })
})

/** Operations that read no body, or read it as the generation of responses does. */
const withoutAttacks: ReadonlySet<string> = new Set([
  'cancel-response',
  'get-model',
  'static-response',
  'compact',
  'invoke',
])

describe('generator of attacks', () => {
  const covered = new Map<string, Set<string>>()
  for (const { endpoint, pair, side } of all) {
    const key = `${side} ${endpoint}`
    covered.set(key, (covered.get(key) ?? new Set()).add(pair))
  }

  test('attacks every POST endpoint of the gateway', () => {
    const endpoints = new Set(all.map(({ endpoint }) => endpoint.replace(/\?.*/, '')))
    const posts = routes
      // Other paths of a family have the same handlers. Requests of stored objects pass unchanged.
      .filter(
        ({ method, operation, family, object, format }) =>
          method === 'POST' &&
          !withoutAttacks.has(operation) &&
          family === undefined &&
          object === undefined &&
          isClientFormat(format),
      )
      .map(({ path }) => path)
      // The same handlers under other prefixes; streams of Gemini differ in the answer, which is attacked by itself.
      .filter(
        (path) =>
          !/^\/v1(beta1\/publishers\/google)?\/models/.test(path) && !/:streamGenerate|\/converse-stream$/.test(path),
      )
      // Their sessions differ from `client_secrets` only in the place of the model.
      .filter((path) => !/^\/v1\/realtime\/(transcription_sessions|translations)/.test(path))
    expect(posts.filter((path) => !endpoints.has(path))).toEqual([])
    expect(posts.length).toBeGreaterThan(20)
  })

  test.each(formats)(
    'attacks requests of %s for each upstream, and responses of each format for its clients',
    (client) => {
      const pairsOf = (side: string): string[] =>
        [...covered].flatMap(([key, pairs]) => (key.startsWith(`${side} `) ? [...pairs] : []))
      for (const upstream of Object.keys(generating)) expect(pairsOf('request')).toContain(`${client} > ${upstream}`)
      for (const upstream of [...formats, 'converse'])
        for (const side of ['answer', 'stream', 'error']) expect(pairsOf(side)).toContain(`${client} > ${upstream}`)
    },
  )

  test('creates thousands of attacks of every kind, and in the short form some of each kind on each pair', () => {
    const counts: Record<string, number> = {}
    for (const { side, kind } of all) counts[`${side} ${kind}`] = (counts[`${side} ${kind}`] ?? 0) + 1
    for (const kind of ['request list', 'request map', 'request text', 'request schema', 'request pair'])
      expect(counts[kind]).toBeGreaterThan(1000)
    for (const kind of ['answer list', 'answer pair', 'stream events', 'stream pair', 'error error'])
      expect(counts[kind]).toBeGreaterThan(1000)
    const strata = (some: readonly (typeof all)[number][]): Set<string> =>
      new Set(some.map(({ endpoint, pair, side, kind }) => `${endpoint} ${pair} ${side} ${kind}`))
    const short = sampled.map((name) => cases.get(name) as (typeof all)[number])
    expect(strata(short)).toEqual(strata(all))
    expect(short.length).toBeLessThan(all.length / 10)
  })

  test('grows a place to the requested size within JSON, also within a text that contains JSON', () => {
    const root = { a: [{ id: 'x' }], call: { arguments: '{"cities":["Ulm"]}' } }
    const place = placesOf(root).find(({ label }) => label === '/call/arguments(JSON)/cities')
    if (place === undefined) throw new Error('the place was not found')
    const text = growingText(root, [{ place, write: () => '"Aalen","Bonn"' }])(1000)
    expect(JSON.parse(JSON.parse(text).call.arguments)).toEqual({ cities: ['Ulm', 'Aalen', 'Bonn'] })
    const sizes = [4000, 8000, 16_000].map((size) =>
      all
        .filter(({ kind }) => kind === 'list')
        .filter((_, at) => at % 500 === 0)
        .map((one) => Buffer.byteLength(one.prepare(size).grown) / size),
    )
    for (const share of sizes.flat()) expect(share).toBeGreaterThan(0.7)
  })

  test('groups attacks that fail for the same reason', () => {
    const families = new Set(all.filter(({ kind }) => kind === 'schema').map(familyOf))
    expect(families.size).toBeLessThan(120)
    expect(families.size).toBeGreaterThan(60)
  })
})

describe('gateway under attack', () => {
  const call = createSubject()

  test('accepts most attack bodies of each pair', async () => {
    const accepted = new Map<string, boolean>()
    for (const { one } of plainCalls()) {
      const { status } = await call(one, one.prepare(0))
      const key = `${one.endpoint} ${one.pair}`
      accepted.set(key, accepted.get(key) === true || status === 200)
    }
    const refused = [...accepted].flatMap(([key, was]) => (was ? [] : [key]))
    // One upstream does not offer the endpoint, or the response does not match the single input.
    expect(refused).toEqual([
      '/v1beta/models/{model}:embedContent gemini > chat',
      '/v1beta/models/{model}:predict gemini > chat',
      '/v1/audio/speech chat > gemini',
      '/api/embeddings ollama > chat',
      '/api/embeddings ollama > gemini',
    ])
  })

  // A response that the attack made invalid is an upstream error: 502 reports it.
  test.each(['request', 'answer', 'stream', 'error'])(
    'never returns an internal error for a small attack by a %s',
    async (side) => {
      const faults: string[] = []
      const some = sampled.filter((name) => cases.get(name)?.side === side)
      for (const name of some) {
        const one = cases.get(name) as (typeof all)[number]
        // The smallest size: each attack at least doubles the growing part.
        const prepared = one.prepare(1)
        if (one.kind !== 'form' && one.side === 'request' && parseJson(prepared.body) === undefined)
          faults.push(`no JSON: ${name}`)
        const { status, responseStart: startMs } = await call(one, prepared)
        const wellRefused = status >= 400 && status < 500 && /"(message|error)":"[^"]/.test(startMs)
        const upstreamsFault = status === 502 && (side !== 'request' || /embed|rerank|speech/i.test(one.endpoint))
        if (status !== 200 && !wellRefused && !upstreamsFault) faults.push(`${status} ${name}: ${startMs}`)
      }
      expect(faults).toEqual([])
    },
  )
})
