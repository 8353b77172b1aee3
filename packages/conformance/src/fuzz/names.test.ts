import { GatewayError, type Inbound, openai } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import {
  createMatcher,
  fillStars,
  namePattern,
  nestsDeeper,
  readCredential,
  readDisposition,
  retryAfterMs,
  routes,
  scanJson,
} from '@modelgate/core/test-support'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { gatewayTo, upstreamKey } from '../base/gateways.ts'
import { parseJson } from '../base/json.ts'
import { bodies } from './bodies.ts'
import { mutateBytes } from './byte-mutations.ts'
import { mutateJson, nodeOf, pick, type Step } from './json-mutations.ts'
import { isDialectError } from './oracle.ts'
import { choice, stepsUpTo } from './recipes.ts'
import { levelsOf } from './requests.ts'
import { fuzz, fuzzPatience, settled, watchProcess, withFacts } from './runs.ts'

watchProcess()

const decoder = new TextDecoder()
/** Texts that consist mostly of special characters. */
const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'*?[]{}()\\/.,;:="\' %&#@\r\n\t\0-_aZ09é\u{1f600}\ud800'), maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

describe('name matching', () => {
  /** Matches by dynamic programming: one row per character of the pattern. */
  function fits(pattern: string, name: string): boolean {
    let row = [true, ...Array.from(name.split(''), () => false)]
    for (const sign of pattern.split('')) {
      const next = [sign === '*' && (row[0] ?? false)]
      for (let at = 1; at < row.length; at++)
        next.push(
          sign === '*'
            ? (row[at] ?? false) || (next[at - 1] ?? false)
            : (row[at - 1] ?? false) && name[at - 1] === sign,
        )
      row = next
    }
    return row[row.length - 1] ?? false
  }
  const few = fc.string({ unit: fc.constantFrom('a', 'b', '*', '-'), maxLength: 14 })
  const names = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 24 })

  test(
    'agrees with a simple reference matcher for patterns with stars',
    () =>
      fuzz(
        'names with stars',
        fc.tuple(few, names, texts, fc.nat(300)),
        ([pattern, name, text, times]) => {
          const stars = namePattern(pattern).match(name)
          if ((stars !== undefined) !== fits(pattern, name)) return `'${pattern}' and '${name}'`
          if (stars !== undefined && fillStars(pattern, stars) !== name) return `the stars of '${pattern}' in '${name}'`
          fillStars(text, [name])
          const begun = performance.now()
          namePattern(`${pattern.repeat(times)}*`).match(name.repeat(times))
          const took = performance.now() - begun
          return took > 100 ? `'${pattern}' ${times} times took ${took} ms` : undefined
        },
        4000,
      ),
    fuzzPatience,
  )

  const match = createMatcher(routes)
  const segments = fc.constantFrom(
    'v1',
    'v1beta',
    'openai',
    'deployments',
    'projects',
    'locations',
    'models',
    'chat',
    'completions',
    'messages',
    'responses',
    ':',
    '',
    '%',
    '%ff',
    'a',
    '..',
    '__proto__',
  )
  const paths = fc
    .tuple(fc.array(segments, { maxLength: 6 }), texts)
    .map(([parts, text]) => `/${parts.join('/')}${text}`)
  test(
    'handles every path without an exception',
    () =>
      fuzz(
        'paths',
        fc.tuple(fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE', 'get', '', '__proto__'), paths),
        ([method, path]) => void match(method, path),
        5000,
      ),
    fuzzPatience,
  )
})

const inboundOf = (headers: Readonly<Record<string, string>>, query = ''): Inbound => ({
  method: 'GET',
  path: '/v1/realtime',
  query,
  header: (name) => headers[name],
  read: async () => new Uint8Array(0),
  signal: new AbortController().signal,
})

/** Returns the credential of a request; undefined for one with two different ones. */
function credentialOf(...request: Parameters<typeof readCredential>): string | undefined {
  try {
    return readCredential(...request)
  } catch (error) {
    if (error instanceof GatewayError && error.info.kind === 'authentication') return undefined
    throw error
  }
}

describe('header parsing', () => {
  const names = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'sec-websocket-protocol']
  const values = fc
    .tuple(fc.constantFrom('', 'Bearer ', 'bearer', 'Basic ', 'openai-insecure-api-key.', 'realtime, '), texts)
    .map((parts) => parts.join(''))
  test(
    'accepts any value without an exception',
    () =>
      fuzz(
        'headers',
        fc.record({
          headers: fc.dictionary(fc.constantFrom(...names), values),
          query: texts,
          route: fc.nat(routes.length - 1),
          delayed: texts,
          part: texts,
        }),
        ({ headers, query, route, delayed, part }) => {
          const credential = credentialOf(inboundOf(headers, query), pick(routes, route))
          if (credential === '') return 'an empty credential'
          const wait = retryAfterMs({ header: (name) => (name === 'retry-after' ? delayed : undefined) })
          if (wait !== undefined && !(wait >= 0)) return `'${delayed}' means ${wait} ms`
          readDisposition(`form-data; name="a"; ${part}`)
          readDisposition(part)
          return undefined
        },
        4000,
      ),
    fuzzPatience,
  )

  const tokens = createTokens({ storage: memoryStorage() })
  const issued = tokens.issue({ name: 'fuzz' })
  test(
    'authenticates only a credential that is exactly the token',
    () =>
      fuzz(
        'credentials',
        fc.tuple(stepsUpTo(2), texts, fc.boolean()),
        async ([bytes, text, own]) => {
          const { secret } = await issued
          const credential = own ? decoder.decode(mutateBytes(secret, bytes)) : text
          try {
            const identity = await tokens.authenticate(credential, {
              method: 'GET',
              path: '/',
              header: () => undefined,
            })
            return (identity !== null) === (credential === secret)
              ? undefined
              : `'${credential}' authenticates ${JSON.stringify(identity)}`
          } catch (error) {
            return error instanceof GatewayError && error.info.kind === 'authentication' && credential !== secret
              ? undefined
              : `'${credential}' throws ${String(error)}`
          }
        },
        4000,
      ),
    fuzzPatience,
  )
})

describe('JSON outline', () => {
  const nodes = Object.values(bodies).flat().map(nodeOf)
  test(
    'agrees with a parser',
    () =>
      fuzz(
        'JSON',
        fc.tuple(choice, stepsUpTo(4), stepsUpTo(1)),
        ([base, steps, bytes]) => {
          const text = decoder.decode(mutateBytes(mutateJson(pick(nodes, base), steps), bytes))
          const { tooDeep, members } = scanJson(text, 128)
          const value = parseJson(text)
          // A parser keeps only the last of duplicate names.
          if (value !== undefined && levelsOf(value) > 128 && !(tooDeep && nestsDeeper(text, 128)))
            return withFacts('it nests too deeply', text)
          if (typeof value !== 'object' || value === null || Array.isArray(value) || tooDeep) return undefined
          const found = members.map(({ key, start, end }) => [key, parseJson(text.slice(start, end))])
          const same = JSON.stringify(Object.fromEntries(found)) === JSON.stringify(value)
          return withFacts(same ? undefined : "members differ from the parser's", text, JSON.stringify(found))
        },
        4000,
      ),
    fuzzPatience,
  )
})

describe('realtime sessions', () => {
  const gateway = gatewayTo('chat', { upstream: openai({ apiKey: upstreamKey, baseURL: 'http://upstream.test/v1' }) })
  const handshake = {
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const events = [
    {
      type: 'response.done',
      response: {
        usage: {
          input_tokens: 3,
          output_tokens: 4,
          input_token_details: { cached_tokens: 1 },
          output_token_details: { audio_tokens: 2 },
        },
      },
    },
    { type: 'error', error: { message: `no ${upstreamKey}` } },
    { type: 'session.created', session: { model: 'a' } },
  ].map(nodeOf)
  const recipes = fc.record({
    headers: fc.dictionary(
      fc.constantFrom(...Object.keys(handshake), 'sec-websocket-protocol', 'openai-beta', 'authorization'),
      texts,
      { maxKeys: 1 },
    ),
    query: fc.oneof(
      fc.constant('model=recorded'),
      texts.map((text) => `model=${text}`),
      texts,
    ),
    messages: fc.array(fc.tuple(fc.nat(2), stepsUpTo(2), stepsUpTo(1)), { maxLength: 4 }),
    reason: texts,
  })

  test(
    'open or are rejected, and handle any message',
    () =>
      fuzz(
        'realtime',
        recipes,
        async ({ headers, query, messages, reason }) => {
          const dialled: string[] = []
          const opening = await settled(
            adapterFunctions(gateway).realtime(inboundOf({ ...handshake, ...headers }, query), async ({ url }) => {
              dialled.push(url)
              return { socket: 'socket' }
            }),
          )
          for (const url of dialled) if (new URL(url).origin !== 'http://upstream.test') return `it dials ${url}`
          if (!opening.ok) {
            const { status, body } = opening.reply
            return status >= 400 && status < 500 && isDialectError('chat', status, String(body))
              ? undefined
              : `${status} ${body}`
          }
          const { session } = opening
          if (session === undefined) return 'the session waits for a message'
          for (const [base, steps, bytes] of messages) {
            const text = decoder.decode(
              mutateBytes(mutateJson(events[base] as (typeof events)[number], steps), bytes as readonly Step[]),
            )
            const passed = session.readUpstream(text)
            if (passed.includes(upstreamKey)) return withFacts('a message contains the upstream key', text, passed)
            // Fragments of the key are redacted too.
            if (passed !== text && !text.includes('key')) return withFacts('a message was changed', text, passed)
          }
          if (Buffer.byteLength(session.closeReason(`${reason} ${upstreamKey}`.repeat(9))) > 123)
            return 'a reason is too long'
          session.settle({ outcome: 'finished' })
          return undefined
        },
        1500,
      ),
    fuzzPatience,
  )
})
