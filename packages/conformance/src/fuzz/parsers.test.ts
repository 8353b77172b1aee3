import { GatewayError } from '@modelgate/core'
import {
  concatBytes,
  createSseDecoder,
  eventFrame,
  exceptionFrame,
  frame,
  framesToEvents,
  inPieces,
  memorySpool,
  namedFrames,
  parseForm,
  textHeader,
} from '@modelgate/core/test-support'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { readSse } from '../base/client-events.ts'
import { gatewayTo, upstreamKey } from '../base/gateways.ts'
import { mutateBytes } from './byte-mutations.ts'
import { pick } from './json-mutations.ts'
import { internalLeak, isDialectError } from './oracle.ts'
import { choice, rarely, stepsUpTo } from './recipes.ts'
import { fuzz, fuzzPatience, settled, watchProcess, withFacts } from './runs.ts'
import { type StreamRecipe, streamBases, streamOf } from './streams.ts'

const uploads = gatewayTo('chat', { fetch: async () => Response.json({ text: 'hi' }) })

// Before `watchProcess` fakes the clock: the first upload loads modules, and meanwhile a test would advance the clock beyond a time limit.
beforeAll(async () => {
  const form = new FormData()
  form.set('model', 'chat-model')
  form.set('file', new Blob(['RIFF']), 'a.wav')
  const body = new Response(form)
  const headers = { 'content-type': body.headers.get('content-type') as string }
  const request = { method: 'POST', headers, body: await body.arrayBuffer() }
  const response = await uploads.fetch('http://gateway.test/v1/audio/transcriptions', request)
  expect(response.status).toBe(200)
})
watchProcess()

const decoder = new TextDecoder()
const pieces = fc.constantFrom(1, 2, 3, 7, 50, 100_000)
/** Returns a parser's result. It must not depend on chunk boundaries, and errors must be of the expected kinds. */
async function readings(
  read: (size: number) => Promise<string>,
  sizes: readonly number[],
  kinds: readonly string[],
): Promise<string | undefined> {
  const found: string[] = []
  for (const size of sizes) {
    try {
      found.push(await read(size))
    } catch (error) {
      if (!(error instanceof GatewayError) || !kinds.includes(error.info.kind)) throw error
      found.push(`error: ${error.info.kind}`)
    }
  }
  return found.every((one) => one === found[0])
    ? undefined
    : `pieces of ${sizes.join(', ')} bytes: ${found.join('\n--\n')}`
}

describe('parser of server-sent events', () => {
  const recipes: fc.Arbitrary<StreamRecipe> = fc.record({
    base: choice,
    events: stepsUpTo(3),
    within: fc.constant([]),
    bytes: stepsUpTo(4),
    layout: choice,
  })
  const decode = (bytes: Uint8Array, size: number): string => {
    const events = createSseDecoder(1e9)
    const found = []
    for (let at = 0; at < bytes.length; at += size) found.push(...events.push(bytes.subarray(at, at + size)))
    return JSON.stringify(found.map(({ event = '', data }) => ({ event, data })))
  }

  test(
    'agrees with the standard at any split',
    () =>
      fuzz(
        'server-sent events',
        fc.tuple(recipes, pieces),
        ([recipe, size]) => {
          const bytes = streamOf(pick(streamBases, recipe.base), recipe)
          const standard = readSse(new TextDecoder().decode(bytes)).filter(({ whole }) => whole)
          const found = decode(bytes, size)
          const wanted = JSON.stringify(standard.map(({ event, data }) => ({ event, data })))
          return withFacts(
            found === wanted ? undefined : 'the events differ',
            JSON.stringify(decoder.decode(bytes)),
            wanted,
            found,
          )
        },
        2000,
      ),
    fuzzPatience,
  )
})

describe('parser of AWS event stream frames', () => {
  const good = [
    eventFrame('messageStart', { role: 'assistant' }),
    frame([textHeader(':event-type', 'a'), { name: 'b', type: 0, value: new Uint8Array(0) }], '{}'),
    exceptionFrame('throttlingException', { message: 'slow down' }),
    eventFrame('contentBlockDelta', { delta: { text: 'hi' } }),
  ]
  const recipes = fc.record({ frames: fc.array(fc.nat(3), { maxLength: 4 }), bytes: stepsUpTo(3), size: pieces })

  test(
    'parses any bytes or reports an invalid response',
    () =>
      fuzz(
        'frames of AWS',
        recipes,
        ({ frames, bytes, size }) => {
          const all = mutateBytes(concatBytes(frames.map((at) => good[at] as Uint8Array)), bytes)
          const read = async (size: number): Promise<string> => {
            let text = ''
            for await (const part of framesToEvents(inPieces(all, size), namedFrames)) text += decoder.decode(part)
            return text
          }
          const kinds = ['upstream_bad_response', 'upstream_truncated', 'rate_limited', 'upstream_error']
          return readings(read, [100_000, size], kinds)
        },
        2000,
      ),
    fuzzPatience,
  )
})

describe('parser of uploads', () => {
  const part = (head: string, body: string): string =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`
  const forms = [
    `${part('name="model"', 'chat-model')}${part('name="file"; filename="a.wav"\r\nContent-Type: audio/wav', 'RIFF\r\n--not\r\n\0')}--b--\r\n`,
    `${part('name="file"; filename="a \\"b\\".wav"', '\r\n\r\n--b')}${part('name="model"', 'chat-model')}--b--`,
    `preamble\r\n${part('name="model"', 'chat-model')}${part('name="prompt"', '{"a":1}')}--b--\r\nepilogue`,
    `${part('name="timestamp_granularities[]"', 'word').repeat(5)}${part('name="file"; filename*=UTF-8\'\'a%20b', 'x')}--b--`,
  ]
  const types = [
    ...['b', '"b"', 'c', '', 'b; charset=utf-8', '-', '--b', 'b\\', 'a'.repeat(300), '"', 'é', 'b\tb'].map(
      (boundary) => `multipart/form-data; boundary=${boundary}`,
    ),
    ...[
      'multipart/form-data',
      'multipart/mixed; boundary=b',
      'MULTIPART/FORM-DATA; Boundary=b',
      'multipart/form-data; boundary="b',
    ],
  ]
  const recipes = fc.record({
    form: fc.nat(forms.length - 1),
    bytes: stepsUpTo(3),
    size: pieces,
    type: rarely(fc.nat(types.length - 1), 0, 5),
  })
  const kinds = ['invalid_request', 'request_too_large', 'unsupported_media_type']

  test(
    'returns the same result at any split, or an error in the dialect',
    () =>
      fuzz(
        'uploads',
        recipes,
        async ({ form, bytes, size, type }) => {
          const all = mutateBytes(forms[form] as string, bytes)
          const contentType = types[type] as string
          const read = async (size: number): Promise<string> =>
            JSON.stringify(await parseForm(inPieces(all, size), contentType, memorySpool()))
          // The parser detects a carriage return without its line feed in a part's head at some splits only.
          const odd = /\r(?!\n)/.test(decoder.decode(all))
          const differs = await readings(read, odd ? [size] : [1_000_000, size], kinds)
          const response = await settled(
            uploads.fetch('http://gateway.test/v1/audio/transcriptions', {
              method: 'POST',
              headers: { 'content-type': contentType },
              body: all as BodyInit,
            }),
          )
          const text = await response.text()
          const { status } = response
          const wrong =
            status >= 500
              ? `status ${status}`
              : status >= 400 && !isDialectError('chat', status, text)
                ? `status ${status} has a body outside of the dialect`
                : internalLeak(text, [upstreamKey])
          return withFacts(differs ?? wrong, JSON.stringify(decoder.decode(all)), contentType, `${status} ${text}`)
        },
        1000,
      ),
    fuzzPatience,
  )
})
