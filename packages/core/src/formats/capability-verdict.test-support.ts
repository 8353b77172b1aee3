import { GatewayError } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Format, SharedFormat } from '../base/names.ts'
import type { RequestFeature, ResponseFeature } from './capabilities.ts'
import { clientBodies, upstreamBodies } from './capability-bodies.test-support.ts'
import { requestSamples } from './capability-requests.test-support.ts'
import { answerSamples } from './capability-responses.test-support.ts'
import type { Codec, ExchangeContext, TargetTraits } from './codec.ts'
import type { Loss, ModelEvent, ModelRequest, ModelResponse, Part } from './ir.ts'
import { createReport } from './loss-report.ts'
import type { RoundTripCodec } from './round-trip.test-support.ts'
import { foldEvents } from './shared/fold.test-support.ts'
import type { Quirks } from './target-traits.ts'

/** Observed handling of a feature by a codec. */
export interface Observed {
  word: 'kept' | 'changed' | 'reported' | 'refused'
  /** The feature changed without a report. */
  silent: boolean
  /** The feature is unchanged after a round trip, regardless of the report. */
  equal: boolean
  losses: readonly Loss[]
}

/** For each format, a model that accepts every feature of the format. */
const models: Readonly<Record<Format, string>> = {
  ollama: 'm',
  chat: 'gpt-next',
  messages: 'claude-next',
  gemini: 'house-model',
  responses: 'gpt-next',
  converse: 'anthropic.claude-next',
}
/** All quirks that extend a format with more features. */
const generous: Quirks = {
  cacheControl: true,
  topK: true,
  reasoningObject: true,
  reasoningField: 'reasoning_content',
  documentUrls: 'document_url',
  laterChanges: ['effort', 'tools'],
}

/** Minimal request from a client of another format. */
const least: ModelRequest = {
  model: 'm',
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }],
  stream: false,
  at: { turns: '/elsewhere', 'user.id': '/elsewhere' },
}

type Context = ExchangeContext & { readonly target: TargetTraits }
function contextOf(format: Format, request = least, quirks: Quirks = {}): Context {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix) => `${prefix}${++ids}`,
    now: () => 1_700_000_000,
    request,
    target: { model: models[format], quirks },
  }
}

/** Serializes a value for comparison, without places and absent fields and with sorted keys. */
function essential(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'at') return undefined
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

function judge(losses: readonly Loss[], equal: boolean): Observed {
  const seen = { silent: false, equal, losses }
  if (losses.some(({ severity }) => severity === 'fatal')) return { ...seen, word: 'refused' }
  if (losses.length === 0) return equal ? { ...seen, word: 'kept' } : { ...seen, word: 'changed', silent: true }
  const gone = losses.every(({ kind }) => kind === 'unsupported' || kind === 'unknown')
  return { ...seen, word: gone && !equal ? 'reported' : 'changed' }
}

const foreignTo = (format: Format): SharedFormat => (format === 'gemini' ? 'messages' : 'gemini')

/** Observes how the codec encodes a requested feature for an upstream of its format. */
export function observeRequest(codec: Codec, feature: RequestFeature, quirk?: keyof Quirks): Observed {
  const { format } = codec
  const quirks: Quirks = quirk === undefined ? {} : { [quirk]: generous[quirk] }
  const sample = requestSamples[feature]({ upstream: format, other: foreignTo(format) })
  const before = contextOf(format, least, quirks)
  for (const request of [least, { ...least, ...sample.beside }]) codec.encodeRequest(request, before)
  const known = new Set(before.report.losses.map(({ path, detail }) => `${path} ${detail}`))
  const context = contextOf(format, least, quirks)
  const request = { ...least, ...sample.request }
  if (essential(sample.pick(request)) === essential(sample.pick({ ...least, ...sample.beside })))
    throw new Error(`the sample of ${feature} says nothing`)
  const body = codec.encodeRequest(request, context)
  const losses = context.report.losses.filter(({ path, detail }) => !known.has(`${path} ${detail}`))
  const back = codec.decodeRequest(asSent(body), contextOf(format))
  return judge(losses, essential(sample.pick(request)) === essential(sample.pick(back)))
}

const asSent = (body: JsonObject): JsonObject => JSON.parse(JSON.stringify(body)) as JsonObject

/** Returns whether a client of the codec's format can request a feature, by its own body or by one that the codec encodes. */
export function canAsk(codec: RoundTripCodec, feature: RequestFeature): boolean {
  const { format } = codec
  const body = clientBodies[format]?.[feature]
  // A format that no upstream speaks issues no seals.
  const owner = body === undefined && format !== 'ollama' ? format : 'gemini'
  const sample = requestSamples[feature]({ upstream: owner, other: owner })
  const request = { ...least, ...sample.request }
  const wire =
    body ?? [{}, generous].map((quirks) => asSent(codec.encodeRequest(request, contextOf(format, least, quirks))))
  return [wire].flat().some((one) => {
    const back = codec.decodeRequest(one, contextOf(format))
    return essential(sample.pick(back)) === essential(sample.pick(request))
  })
}

/** Observes how the codec encodes a response feature for a client of its format. */
export function observeAnswer(
  codec: RoundTripCodec,
  feature: ResponseFeature,
  stream: boolean,
  owner?: SharedFormat,
): Observed {
  const { format } = codec
  const sample = answerSamples[feature]({ other: owner ?? foreignTo(format) })
  const output = { ...sample.request?.output, ...(stream ? { includeUsage: true } : {}) }
  const request: ModelRequest = { ...least, ...sample.request, stream, output }
  const context = contextOf(format, request)
  let back: ModelResponse
  try {
    back = stream
      ? throughStream(codec, sample.response, context, contextOf(format, request))
      : codec.decodeResponse(asSent(codec.encodeResponse(sample.response, context)), contextOf(format, request))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { word: 'refused', silent: false, equal: false, losses: context.report.losses }
  }
  return judge(context.report.losses, essential(sample.pick(sample.response)) === essential(sample.pick(back)))
}

function throughStream(codec: RoundTripCodec, answer: ModelResponse, context: Context, reader: Context): ModelResponse {
  const encoder = codec.encodeStream(context)
  const decoder = codec.decodeStream(reader)
  const wire = [...unfold(answer).flatMap((event) => encoder.push(event)), ...encoder.end()]
  const events = [...wire.flatMap((event) => decoder.push(event)), ...decoder.end()]
  const failure = events.find((event) => event.type === 'error')
  if (failure !== undefined) throw new GatewayError(failure.error.kind, failure.error.message)
  const folded = foldEvents(events)
  for (const event of events)
    if (event.type === 'part-delta' && 'logprobs' in event.delta && event.delta.logprobs !== undefined) {
      const choice = folded.choices[event.choice]
      if (choice !== undefined) choice.logprobs = event.delta.logprobs
    }
  return folded
}

/** Returns whether an upstream of the codec's format can send a feature, by its own body or by one that the codec encodes. */
export function canTell(codec: Codec, feature: ResponseFeature): boolean {
  const { format } = codec
  const body = upstreamBodies[format]?.[feature]
  if (body === undefined) return observeAnswer(codec, feature, false, format).equal
  const sample = answerSamples[feature]({ other: format })
  try {
    const back = codec.decodeResponse(body, contextOf(format, { ...least, ...sample.request }))
    return essential(sample.pick(back)) === essential(sample.pick(sample.response))
  } catch (error) {
    // A response with this finish reason is decoded as an error.
    return error instanceof GatewayError && feature === 'finish.error'
  }
}

/** Splits a response into stream events: text in deltas, then its citations, with usage at the end. */
function unfold({ id, model, created, serviceTier, extra, choices, usage }: ModelResponse): ModelEvent[] {
  const start: ModelEvent = { type: 'response-start', id, model, created }
  if (serviceTier !== undefined) start.serviceTier = serviceTier
  if (extra !== undefined) start.extra = extra
  const spoken = choices.flatMap(({ parts, finish, logprobs }, choice): ModelEvent[] => [
    ...parts.flatMap((value, part) =>
      unfoldPart(value).map((event): ModelEvent => {
        if (event.type !== 'part-delta' || event.delta.type !== 'text' || logprobs === undefined)
          return { ...event, choice, part }
        return { ...event, choice, part, delta: { ...event.delta, logprobs } }
      }),
    ),
    { type: 'choice-end', choice, finish },
  ])
  const counted: ModelEvent[] = usage === undefined ? [] : [{ type: 'usage', usage }]
  return [start, ...spoken, ...counted, { type: 'response-end' }]
}

type PartEvent = Extract<ModelEvent, { part: number }>
function unfoldPart(value: Part): PartEvent[] {
  const place = { choice: 0, part: 0 }
  const end: PartEvent = { type: 'part-end', ...place }
  switch (value.type) {
    case 'text': {
      const { citations = [], ...rest } = value
      return [
        { type: 'part-start', ...place, value: { ...rest, text: '' } },
        { type: 'part-delta', ...place, delta: { type: 'text', text: value.text } },
        ...citations.map(
          (citation): PartEvent => ({ type: 'part-delta', ...place, delta: { type: 'citation', citation } }),
        ),
        end,
      ]
    }
    case 'reasoning': {
      const { seal, ...rest } = value
      const sealed: PartEvent[] =
        seal === undefined ? [] : [{ type: 'part-delta', ...place, delta: { type: 'seal', seal } }]
      return [
        { type: 'part-start', ...place, value: { ...rest, text: '' } },
        ...(value.text === ''
          ? []
          : [{ type: 'part-delta', ...place, delta: { type: 'reasoning', text: value.text } } as const]),
        ...sealed,
        end,
      ]
    }
    case 'refusal':
      return [
        { type: 'part-start', ...place, value: { ...value, text: '' } },
        { type: 'part-delta', ...place, delta: { type: 'refusal', text: value.text } },
        end,
      ]
    case 'tool-call':
      return [
        { type: 'part-start', ...place, value: { ...value, input: '' } },
        { type: 'part-delta', ...place, delta: { type: 'input', text: value.input } },
        end,
      ]
    default:
      return [{ type: 'part-start', ...place, value }, end]
  }
}
