import type { JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ClientCodec, Codec, ExchangeContext } from '../codec.ts'
import type { Loss, ModelEvent, ModelRequest, ModelResponse, Part } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import type { RoundTripCodec } from '../round-trip.test-support.ts'
import type { Machine } from '../stream-codec.ts'
import type { Quirks } from '../target-traits.ts'

/** A translated exchange between a client of one format and an upstream of another. */
export interface Exchange {
  readonly request: ModelRequest
  /** Body that is sent upstream. */
  readonly sent: JsonObject
  readonly losses: readonly Loss[]
  /** Response that the client receives if the upstream sends `parts`, whole; `stream` returns it as events. */
  answer(parts: readonly Part[]): JsonObject
  stream(parts: readonly Part[]): SseEvent[]
}

let made = 0
const contextFor = (request: ModelRequest, report = createReport()): ExchangeContext => ({
  report,
  request,
  newId: (prefix) => `${prefix}${++made}`,
  now: () => 1_700_000_000,
})

export function exchangeOf(
  client: ClientCodec,
  body: JsonObject,
  upstream: Codec,
  model = 'm',
  quirks: Quirks = {},
): Exchange {
  const report = createReport()
  const target = { model, quirks }
  const base = { ...contextFor({ model, turns: [], stream: false }, report), upstream: upstream.format }
  const decoded = client.decodeRequest(structuredClone(body), base)
  const request: ModelRequest = { ...decoded, at: { ...client.fieldPointers, ...decoded.at } }
  const sent = JSON.parse(JSON.stringify(upstream.encodeRequest(request, { ...base, target }))) as JsonObject
  const theirs = contextFor(readRequest(upstream, sent))
  const ours = { ...contextFor(request, report), target }
  return {
    request,
    sent,
    losses: report.losses,
    answer(parts) {
      const wire = upstream.encodeResponse(responseOf(parts), theirs)
      return client.encodeResponse(upstream.decodeResponse(clean(wire), ours), ours)
    },
    stream(parts) {
      const wire = run(upstream.encodeStream(theirs), eventsOf(responseOf(parts)))
      return run(client.encodeStream(ours), run(upstream.decodeStream(ours), wire))
    },
  }
}

const clean = (value: JsonObject): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject

/** Decodes a body as a server of its format. */
export const readRequest = (codec: ClientCodec, body: JsonObject): ModelRequest => {
  const request = codec.decodeRequest(
    { model: 'm', stream: false, ...structuredClone(body) },
    contextFor({ model: 'm', turns: [], stream: false }),
  )
  return { ...request, at: { ...codec.fieldPointers, ...request.at } }
}

/** Decodes a response as a client of its format. */
export const readAnswer = (codec: RoundTripCodec, body: JsonObject, request: ModelRequest): readonly Part[] =>
  codec.decodeResponse(clean(body), contextFor(request)).choices[0]?.parts ?? []

export const readStream = (codec: RoundTripCodec, events: readonly SseEvent[], request: ModelRequest): ModelEvent[] =>
  run(codec.decodeStream({ ...contextFor(request), target: { model: 'm', quirks: {} } }), events)

export function run<In, Out>(machine: Machine<In, Out>, inputs: readonly In[]): Out[] {
  return [...inputs.flatMap((input) => machine.push(input)), ...machine.end()]
}

const responseOf = (parts: readonly Part[]): ModelResponse => ({
  id: 'answer',
  model: 'm',
  created: 1,
  choices: [
    {
      parts: [...parts],
      finish: { reason: parts.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop' },
    },
  ],
  usage: { input: { total: 3 }, output: { total: 5 } },
})

/** Splits a response into stream events: each part in pieces, with its seal after its text. */
export function eventsOf({ id, model, created, choices, usage }: ModelResponse): ModelEvent[] {
  const events: ModelEvent[] = [{ type: 'response-start', id, model, created }]
  const [choice] = choices
  for (const [part, value] of (choice?.parts ?? []).entries()) {
    const at = { choice: 0, part }
    const push = (type: 'text' | 'reasoning' | 'input', text: string): void => {
      for (const piece of [text.slice(0, 2), text.slice(2)])
        if (piece !== '') events.push({ type: 'part-delta', ...at, delta: { type, text: piece } })
    }
    if (value.type === 'tool-call') {
      const { seal, ...call } = value
      // The seal of a call is part of its start event, because no format streams it separately.
      events.push({ type: 'part-start', ...at, value: { ...call, input: '', ...(seal && { seal }) } })
      push('input', value.input)
    } else if (value.type === 'reasoning' && !value.redacted) {
      const { seal, ...thought } = value
      events.push({ type: 'part-start', ...at, value: { ...thought, text: '' } })
      push('reasoning', value.text)
      if (seal !== undefined) events.push({ type: 'part-delta', ...at, delta: { type: 'seal', seal } })
    } else if (value.type === 'text') {
      events.push({ type: 'part-start', ...at, value: { ...value, text: '' } })
      push('text', value.text)
    } else events.push({ type: 'part-start', ...at, value })
    events.push({ type: 'part-end', ...at })
  }
  if (usage !== undefined) events.push({ type: 'usage', usage })
  events.push(
    { type: 'choice-end', choice: 0, finish: choice?.finish ?? { reason: 'other' } },
    { type: 'response-end' },
  )
  return events
}
