import {
  type Codec,
  codecs,
  type JsonObject,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  type RoundTripCodec,
  roundTripCodecs,
  type SettingsChange,
  settleChanges,
  type Tool,
  type Turn,
} from '@modelgate/core/test-support'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import {
  comparableValue,
  conversationTexts,
  createContext,
  createExchange,
  fieldAt,
  fieldsOf,
  fold,
  gistOf,
  isMeaningless,
  requests,
  responses,
  run,
  streamOf,
} from './support.ts'

const pairs = roundTripCodecs.flatMap((client) =>
  codecs.map((upstream) => ({ client, upstream, name: nameOf(client, upstream) })),
)
function nameOf(client: RoundTripCodec, upstream: Codec): string {
  return `${client.format}→${upstream.format}`
}
const runs = { numRuns: 60, seed: 20261121 }
const pieces = fc.integer({ min: 1, max: 5 })

/** Returns a request of one format as the pipeline passes it to an encoder. */
function decodedRequest(client: RoundTripCodec, request: ModelRequest, context = createContext()): ModelRequest {
  const wire = client.encodeRequest(request, createContext())
  // Formats with model and stream in the path: the route copies them into the body.
  const body: JsonObject = client.modelInPath === undefined ? wire : { ...wire, model: 'demo', stream: request.stream }
  const decoded = client.decodeRequest(structuredClone(body), context)
  return { ...decoded, at: { ...client.fieldPointers, ...decoded.at } }
}

/** Settings that only some formats need: token counts of a stream, visible reasoning, an effort without it. */
const doneAnyway = ({ reasoning }: ModelRequest, field: string): boolean =>
  field === 'output.includeUsage' ||
  (field === 'reasoning.summary' && reasoning?.summary === 'auto') ||
  (field === 'reasoning.adaptive' && reasoning?.adaptive === false)

/** Translates the events of an upstream response to the client's format. */
function translateEvents(
  client: RoundTripCodec,
  upstream: Codec,
  events: readonly ReturnType<typeof streamOf>[number][],
): ModelEvent[] {
  const exchange = createExchange()
  const decoded = run(upstream.decodeStream(exchange), events)
  return run(client.decodeStream(createExchange()), run(client.encodeStream(exchange), decoded))
}

describe.each(pairs)('translation $name', ({ client, upstream }) => {
  test('preserves or reports every part of a request, in a body that the upstream accepts', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const context = createContext()
        const decoded = decodedRequest(client, request, context)
        const wire = upstream.encodeRequest(decoded, context)
        const body: JsonObject = upstream.modelInPath === undefined ? wire : { ...wire, model: 'demo', stream: false }
        expect(upstream.validateRequest(structuredClone(body))).toEqual(body)
        const back = upstream.decodeRequest(structuredClone(body), createContext())
        const reported = context.report.losses.map(({ path }) => path)
        for (const field of fieldsOf(decoded)) {
          if (isMeaningless(decoded, field) || doneAnyway(decoded, field)) continue
          const place = decoded.at?.[field] ?? `/${field}`
          const isAbout = (path: string): boolean => path === place || path.startsWith(`${place}/`)
          if (reported.some((path) => isAbout(path) && !path.endsWith('/strict'))) continue
          const value = comparableValue(field, fieldAt(decoded, field), reported)
          expect([field, fieldAt(back, field)]).toMatchObject([field, value])
        }
        expect(conversationTexts(back)).toEqual(conversationTexts(decoded))
      }),
      runs,
    )
  })

  test('has the same content unstreamed and streamed', () => {
    fc.assert(
      fc.property(responses, pieces, (response, count) => {
        const exchange = createExchange()
        const wire = upstream.encodeResponse(response, createExchange())
        const answer = client.encodeResponse(upstream.decodeResponse(structuredClone(wire), exchange), exchange)
        const whole: ModelResponse = client.decodeResponse(structuredClone(answer), createExchange())
        expect(gistOf(whole)).toEqual(gistOf(response))
        expect(gistOf(fold(translateEvents(client, upstream, streamOf(upstream, response, count))))).toEqual(
          gistOf(response),
        )
      }),
      runs,
    )
  })

  test('ends a truncated stream in one error and without a finish event', () => {
    fc.assert(
      fc.property(responses, pieces, fc.nat(), (response, count, at) => {
        const wire = streamOf(upstream, response, count)
        const ends = (length: number): boolean =>
          run(upstream.decodeStream(createExchange()), wire.slice(0, length)).some(
            ({ type }) => type === 'response-end',
          )
        const whole = wire.findIndex((_, length) => ends(length + 1))
        const events = translateEvents(client, upstream, wire.slice(0, at % (whole + 1)))
        expect(events.filter(({ type }) => type === 'error' || type === 'response-end')).toHaveLength(1)
        expect(events.at(-1)?.type).toBe('error')
      }),
      runs,
    )
  })
})

const effortWords = ['low', 'medium', 'high'] as const
const toolNames = ['first', 'second', 'third'] as const
const functionOf = (name: string): Tool => ({ type: 'function', name, schema: { type: 'object', properties: {} } })
const changing = codecs.filter(({ capabilities }) => capabilities.requests['turns.laterEffort'].client)

/** User texts, each optionally followed by a change of the effort or the tools. */
const changes = fc.array(
  fc.oneof(
    fc.constant(undefined),
    fc.constantFrom(...effortWords).map((effort): SettingsChange => ({ effort })),
    fc.constantFrom(...toolNames).map((name): SettingsChange => ({ addedTools: [functionOf(name)] })),
    fc.constantFrom(...toolNames).map((name): SettingsChange => ({ removedTools: [name] })),
  ),
  { minLength: 1, maxLength: 5 },
)

function changedConversation(list: readonly (SettingsChange | undefined)[]): ModelRequest {
  const turns = list.flatMap((change, round): Turn[] => [
    { role: 'user', parts: [{ type: 'text', text: `question ${round}` }] },
    ...(change === undefined ? [] : [{ role: 'system' as const, parts: [], changes: [change] }]),
    { role: 'assistant', parts: [{ type: 'text', text: `answer ${round}` }] },
  ])
  turns.push({ role: 'user', parts: [{ type: 'text', text: 'the last question' }] })
  const offered = functionOf('zeroth')
  const added = toolNames.map((name): Tool => ({ ...functionOf(name), deferred: true }))
  return { model: 'demo', stream: false, turns, reasoning: { effort: 'high' }, tools: { list: [offered, ...added] } }
}

/** Returns the effort and the tools in effect at the end. */
function inForce(list: readonly (SettingsChange | undefined)[]): { effort: unknown; tools: string[] } {
  const tools = new Set(['zeroth'])
  let effort: unknown = 'high'
  for (const change of list) {
    effort = change?.effort ?? effort
    for (const tool of change?.addedTools ?? []) if (tool.type !== 'native') tools.add(tool.name)
    for (const name of change?.removedTools ?? []) tools.delete(name)
  }
  return { effort, tools: [...tools].sort() }
}

const changesIn = ({ turns }: ModelRequest): unknown[] =>
  turns.flatMap(({ changes: list }) =>
    (list ?? []).map(({ effort, addedTools, removedTools }) => ({
      effort,
      added: addedTools?.map((tool) => (tool.type === 'native' ? '' : tool.name)),
      removed: removedTools,
    })),
  )

describe.each(
  changing.flatMap((client) => codecs.map((upstream) => ({ client, upstream, name: nameOf(client, upstream) }))),
)('changes within a conversation, $name', ({ client, upstream }) => {
  const contextWith = (accepted: readonly ('effort' | 'tools')[]) => ({
    ...createContext(),
    target: { model: 'claude-opus-5', quirks: { laterChanges: accepted } },
  })
  /** The client's own format lacks some fields. */
  const text = (list: readonly (SettingsChange | undefined)[]) =>
    client.capabilities.requests['turns.removedTools'].client
      ? list
      : list.filter((one) => one?.removedTools === undefined)

  test.each([{ accepted: [] }, { accepted: ['effort' as const, 'tools' as const] }])(
    'arrive in place, or as the final values with a report: accepted $accepted',
    ({ accepted }) => {
      fc.assert(
        fc.property(changes, (drawn) => {
          const list = text(drawn)
          const wire = client.encodeRequest(
            { ...changedConversation(list), at: { ...client.fieldPointers } },
            contextWith(['effort', 'tools']),
          )
          const context = contextWith(accepted)
          const decoded = client.decodeRequest(structuredClone(wire), context)
          decoded.at = { ...client.fieldPointers, ...decoded.at }
          const sent = upstream.encodeRequest(decoded, context)
          const body: JsonObject = upstream.modelInPath === undefined ? sent : { ...sent, model: 'demo', stream: false }
          expect(upstream.validateRequest(structuredClone(body))).toEqual(body)
          const back = upstream.decodeRequest(structuredClone(body), createContext())
          const kept = changesIn(back)
          // Each change arrives or is reported.
          expect(
            kept.length + context.report.losses.filter(({ kind }) => kind === 'approximated').length,
          ).toBeGreaterThanOrEqual(changesIn(decoded).length)
          const end = settleChanges(back, {}, upstream.format, createContext().report)
          const names = (end.tools?.list ?? []).flatMap((tool) => (tool.type === 'native' ? [] : [tool.name]))
          expect({ effort: end.reasoning?.effort, tools: names.sort() }).toEqual(inForce(list))
        }),
        runs,
      )
    },
  )
})

afterAll(() => console.log(`laws: ${pairs.length} pairs: 3 laws of ${runs.numRuns} cases each`))
