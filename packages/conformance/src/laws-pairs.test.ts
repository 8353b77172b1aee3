import {
  type Codec,
  codecs,
  type JsonObject,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
} from '@modelgate/core/test-support'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import {
  createContext,
  createExchange,
  fieldAt,
  fieldsOf,
  fold,
  gistOf,
  requests,
  responses,
  run,
  saidIn,
  saysNothing,
  streamOf,
  whatSays,
} from './laws-support.ts'

const pairs = codecs.flatMap((client) =>
  codecs.map((upstream) => ({ client, upstream, name: nameOf(client, upstream) })),
)
function nameOf(client: Codec, upstream: Codec): string {
  return `${client.format}→${upstream.format}`
}
const runs = { numRuns: 60, seed: 20261121 }
const pieces = fc.integer({ min: 1, max: 5 })

/** What a client of one format wrote, as the lane hands it to an encoder. */
function asked(client: Codec, request: ModelRequest, context = createContext()): ModelRequest {
  const wire = client.encodeRequest(request, createContext())
  // A format may have model and stream in its path; whoever reads that puts them in the body.
  const body: JsonObject = client.modelInPath === undefined ? wire : { ...wire, model: 'demo', stream: request.stream }
  const decoded = client.decodeRequest(structuredClone(body), context)
  return { ...decoded, at: { ...client.fieldPointers, ...decoded.at } }
}

/** What a format must be told and others do unasked: count the tokens of a stream; heed an effort without reasoning aloud. */
const doneAnyway = ({ reasoning }: ModelRequest, field: string): boolean =>
  field === 'output.includeUsage' || (field === 'reasoning.adaptive' && reasoning?.adaptive === false)

/** An answer of the upstream on its way to the client, piece by piece. */
function told(client: Codec, upstream: Codec, events: readonly ReturnType<typeof streamOf>[number][]): ModelEvent[] {
  const exchange = createExchange()
  const decoded = run(upstream.decodeStream(exchange), events)
  return run(client.decodeStream(createExchange()), run(client.encodeStream(exchange), decoded))
}

describe.each(pairs)('$name', ({ client, upstream }) => {
  test('what a client says arrives in a body that the upstream takes, or is in the report', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const context = createContext()
        const decoded = asked(client, request, context)
        const wire = upstream.encodeRequest(decoded, context)
        const body: JsonObject = upstream.modelInPath === undefined ? wire : { ...wire, model: 'demo', stream: false }
        expect(upstream.validateRequest(structuredClone(body))).toEqual(body)
        const back = upstream.decodeRequest(structuredClone(body), createContext())
        const reported = context.report.losses.map(({ path }) => path)
        for (const field of fieldsOf(decoded)) {
          if (saysNothing(decoded, field) || doneAnyway(decoded, field)) continue
          const place = decoded.at?.[field] ?? `/${field}`
          const isAbout = (path: string): boolean => path === place || path.startsWith(`${place}/`)
          if (reported.some((path) => isAbout(path) && !path.endsWith('/strict'))) continue
          const value = whatSays(field, fieldAt(decoded, field), reported)
          expect([field, fieldAt(back, field)]).toMatchObject([field, value])
        }
        expect(saidIn(back)).toEqual(saidIn(decoded))
      }),
      runs,
    )
  })

  test('an answer says the same, whole and streamed', () => {
    fc.assert(
      fc.property(responses, pieces, (response, count) => {
        const exchange = createExchange()
        const wire = upstream.encodeResponse(response, createExchange())
        const answer = client.encodeResponse(upstream.decodeResponse(structuredClone(wire), exchange), exchange)
        const whole: ModelResponse = client.decodeResponse(structuredClone(answer), createExchange())
        expect(gistOf(whole)).toEqual(gistOf(response))
        expect(gistOf(fold(told(client, upstream, streamOf(upstream, response, count))))).toEqual(gistOf(response))
      }),
      runs,
    )
  })

  test('a stream that breaks off is one error to the client, and no ending', () => {
    fc.assert(
      fc.property(responses, pieces, fc.nat(), (response, count, at) => {
        const wire = streamOf(upstream, response, count)
        const ends = (length: number): boolean =>
          run(upstream.decodeStream(createExchange()), wire.slice(0, length)).some(
            ({ type }) => type === 'response-end',
          )
        const whole = wire.findIndex((_, length) => ends(length + 1))
        const events = told(client, upstream, wire.slice(0, at % (whole + 1)))
        expect(events.filter(({ type }) => type === 'error' || type === 'response-end')).toHaveLength(1)
        expect(events.at(-1)?.type).toBe('error')
      }),
      runs,
    )
  })
})

afterAll(() => console.log(`laws: ${pairs.length} pairs: 3 laws of ${runs.numRuns} cases each`))
