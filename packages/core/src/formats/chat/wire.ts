import { lazy } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { MutableTap, ResponseTap, StreamTap, TapOptions, TargetTraits, WireCodec, WireEdit } from '../codec.ts'
import { receivedReferences } from '../references/places.ts'
import { checkJsonEnds, invalidEventError, parseObject } from '../shared/json-text.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import type { Quirks } from '../target-traits.ts'
import { comment, errorEvent, type Frame, heartbeatEvent } from './chunk.ts'
import { decodeError, encodeError, errorWithin } from './error.ts'
import type { QuirkEdits } from './quirks.ts'
import { decodeUsage, groqUsage, lastChoiceUsage } from './usage-decode.ts'

/** The part of the chat codec that every call needs. */
export const chatWire: WireCodec = {
  format: 'chat',
  loadRequestCheck: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  decodeError,
  encodeError,
  prepareWireEdit: prepareWireEdit,
  wireEdit,
  isResponse: ({ choices }) => Array.isArray(choices) && choices.length > 0,
  errorWithin,
  tapResponse,
  tapStream,
  affinity: { keys: ['prompt_cache_key'], prefix: ['tools'], turns: 'messages' },
  textFields: {
    response: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
    event: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
  },
  billableUnits: ({ num_search_queries: searches }) => (typeof searches === 'number' ? { searches } : undefined),
  // xAI: the client fetches the response later.
  backgroundFields: ['deferred'],
  outputBound: { fields: ['max_completion_tokens', 'max_tokens'], countFields: ['n'] },
  encodeAllowance: rateLimitHeaders,
  modelPlaces: modelPlaces({
    names: [
      ...routerPlaces.names,
      ...toolPlaces.names,
      'moderation.model',
      // Groq's compound systems.
      'compound_custom.models.answering_model',
      'compound_custom.models.reasoning_model',
      // Azure OpenAI On Your Data.
      'data_sources[].parameters.embedding_dependency.deployment_name',
      'data_sources[].parameters.embedding_dependency.model_id',
    ],
    chooses: { ...routerPlaces.chooses, 'data_sources[].parameters.embedding_dependency.endpoint': [] },
    sameMembers: { ...routerPlaces.sameMembers, ...toolPlaces.sameMembers },
  }),
}

/** Code for upstreams with quirks, loaded on first use. OpenAI has none. */
const fitter = lazy(() => import('./quirks.ts').then(({ applyQuirks: fit }) => fit))

const isPlain = (quirks: Quirks): boolean => {
  for (const _ in quirks) return false
  return true
}

/** See `WireCodec.prepareWireEdit`. */
export function prepareWireEdit({ quirks }: TargetTraits): Promise<unknown> | undefined {
  if (isPlain(quirks)) return undefined
  const fit = fitter()
  return fit instanceof Promise ? fit : undefined
}

/**
 * Returns the edits of a pass-through body. It requests usage of streams for metering, and removes the `usage` member of each chunk if the
 * client did not request usage.
 */
function wireEdit(body: JsonObject, { quirks }: TargetTraits): WireEdit | undefined {
  const fit = isPlain(quirks) ? asItIs : fitter()
  if (fit instanceof Promise) throw new Error('what fits bodies to quirks is not loaded: wait for wireReady')
  const { set, drop, losses } = fit(body, quirks)
  const metered = body.stream === true && (quirks.streamOptions ?? true) === true
  const options = isObject(body.stream_options) ? body.stream_options : undefined
  const asks = metered && options?.include_usage !== true
  if (asks) set.stream_options = { ...options, include_usage: true }
  if (Object.keys(set).length === 0 && drop.length === 0 && losses.length === 0) return undefined
  return {
    set,
    ...(drop.length === 0 ? {} : { drop }),
    ...(losses.length === 0 ? {} : { losses }),
    ...(asks ? { erase: ',"usage":null' } : {}),
  }
}

const asItIs = (): Pick<QuirkEdits, 'set' | 'drop' | 'losses'> => ({ set: {}, drop: [], losses: [] })

export function tapResponse(body: JsonObject): ResponseTap {
  const out: ResponseTap = {}
  const choices = Array.isArray(body.choices) ? body.choices : []
  if (choices.length === 0 && isObject(body.error)) return { error: decodeError(200, body) }
  const usage = decodeUsage(body.usage ?? groqUsage(body) ?? lastChoiceUsage(choices))
  if (usage !== undefined) out.usage = usage
  const [first] = choices
  if (isObject(first) && typeof first.finish_reason === 'string') out.finish = first.finish_reason
  const received = receivedReferences('responses', choices.map(audioIdOf))
  if (received !== undefined) out.received = received
  return out
}

/** Returns the id of an audio response, which a later request may refer to. */
function audioIdOf(choice: Json): Json | undefined {
  const message = isObject(choice) ? choice.message : undefined
  const audio = isObject(message) ? message.audio : undefined
  return isObject(audio) ? audio.id : undefined
}

/** Matches the id of an audio response in a stream chunk. */
const audioId = /"audio"\s*:\s*\{[^{}]*?"id"\s*:\s*"([^"\\]+)"/

/** Bounds the search: the audio data itself may be long. */
const audioStart = 2000

/** Creates a tap that parses the first chunk, and then only chunks with usage or an error. It searches others as text. */
export function tapStream(options: TapOptions): StreamTap {
  const { withholdUsage, request: asked = {} } = options
  const wanted = typeof asked.n === 'number' ? asked.n : 1
  /** Choices with a finish reason. */
  const finished = new Set<number>()
  let frame: Frame | undefined
  const { doneOptional } = options.target.quirks
  const unfinished = doneOptional ? new Set<number>() : undefined

  /** Returns whether the client gets the chunk; undefined for a chunk with usage only. */
  function read(event: SseEvent): boolean | undefined {
    const chunk = parseObject(event.data)
    if (chunk === undefined) throw invalidEventError()
    const error = event.event === 'error' ? chunk : errorWithin(chunk)
    if (error !== undefined) {
      // A completed response has not failed.
      if (tap.ended) return false
      tap.error = decodeError(200, error)
    }
    const choices = choicesOf(chunk)
    if (choices.length > 0) {
      if (tap.error === undefined) tap.started = true
      frame ??= {
        id: typeof chunk.id === 'string' ? chunk.id : '',
        model: typeof chunk.model === 'string' ? chunk.model : '',
        created: typeof chunk.created === 'number' ? chunk.created : 0,
      }
    }
    noteFinished(choices)
    if (unfinished !== undefined && tap.error === undefined) trackChoices(chunk, unfinished)
    const counted = decodeUsage(chunk.usage ?? groqUsage(chunk) ?? lastChoiceUsage(choices))
    if (counted !== undefined) tap.usage = counted
    const usageOnly = counted !== undefined && Array.isArray(chunk.choices) && choices.length === 0
    return usageOnly && tap.error === undefined ? undefined : true
  }

  function noteFinished(choices: readonly Json[]): void {
    for (const choice of choices)
      if (isObject(choice) && choice.finish_reason) finished.add(typeof choice.index === 'number' ? choice.index : 0)
  }

  /** If `[DONE]` is optional, the finish reason of the last open choice ends the stream. */
  function trackChoices(chunk: JsonObject, unfinished: Set<number>): void {
    for (const choice of choicesOf(chunk)) {
      if (!isObject(choice)) continue
      const index = typeof choice.index === 'number' ? choice.index : 0
      if (choice.finish_reason) unfinished.delete(index)
      else unfinished.add(index)
      tap.ended = unfinished.size === 0
    }
  }

  const tap: MutableTap = {
    varyingMembers: varying,
    canSkipSimilar: false,
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
    received: undefined,
    push(event) {
      const { data } = event
      tap.canSkipSimilar = false
      if (event.event === ':') return true
      if (data === '[DONE]' || data.trim() === '[DONE]') {
        if (frame === undefined)
          throw new GatewayError('upstream_bad_response', 'The upstream ended its stream without an answer.')
        // A stream with neither finish reason nor usage was cut. Some servers omit the finish reason.
        tap.ended = tap.finish !== undefined || tap.usage !== undefined
        // After `[DONE]` the client would not read the error.
        return tap.ended
      }
      // Clients parse the data of every event.
      if (data === '') return false
      checkJsonEnds(data)
      if (tap.received === undefined && startsObject(data, '"audio"'))
        tap.received = receivedReferences('responses', [audioId.exec(data.slice(0, audioStart))?.[1]])
      const word = finishWord(data)
      tap.finish = word ?? tap.finish
      const failed = event.event === 'error' || word === 'error'
      if (frame !== undefined && !doneOptional && !failed && !worthParsing(data)) {
        tap.canSkipSimilar = word === undefined
        // Once for each choice. Most streams need no other parsing between first and last chunk.
        if (word !== undefined) noteFinished(choicesOf(parseObject(data)))
        return true
      }
      return read(event) ?? !withholdUsage
    },
    end(complete) {
      if (complete === true && tap.error === undefined && finished.size >= wanted) tap.ended = true
    },
    heartbeat: () => [frame === undefined ? comment : heartbeatEvent(frame)],
    fail: (info) => [errorEvent(info)],
  }
  return tap
}

const choicesOf = (chunk: JsonObject | undefined): readonly Json[] =>
  Array.isArray(chunk?.choices) ? chunk.choices : []

/** Members with text, time or padding. */
const varying: ReadonlySet<string> = new Set([
  'content',
  'reasoning_content',
  'reasoning',
  'refusal',
  'arguments',
  'text',
  'created',
  'obfuscation',
  'p',
])

/** Quotes within a JSON string are escaped, so that these matches are real keys, or short string values. */
const worthParsing = (data: string): boolean => startsObject(data, '"usage"') || data.includes('"error"')

function startsObject(data: string, key: string): boolean {
  for (let at = data.indexOf(key); at >= 0; at = data.indexOf(key, at + 1))
    if (valueAt(data, at + key.length) === '{') return true
  return false
}

/** Returns the first character of the value after a key. Some servers write a space after the colon. */
function valueAt(data: string, position: number): string {
  let at = position
  while (data[at] === ' ' || data[at] === ':') at++
  return data[at] ?? ''
}

/** Returns the last finish reason of a chunk. Ignores null, and the name as a string value. */
function finishWord(data: string): string | undefined {
  const key = '"finish_reason"'
  for (let at = data.lastIndexOf(key); at >= 0; at = at === 0 ? -1 : data.lastIndexOf(key, at - 1)) {
    let from = at + key.length
    while (data[from] === ' ' || data[from] === ':') from++
    if (from === at + key.length || data[from] !== '"') continue
    const end = data.indexOf('"', from + 1)
    if (end > from + 1) return data.slice(from + 1, end)
  }
  return undefined
}
