import { lazy } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import { checkJsonEnds, invalidEventError, type SseEvent } from '../../http/sse/sse.ts'
import type { MutableTap, ResponseTap, StreamTap, TapOptions, TargetTraits, WireCodec, WireEdit } from '../codec.ts'
import type { Usage } from '../ir.ts'
import { receivedReferences } from '../references/places.ts'
import { addBilled, billedTier } from '../shared/billed.ts'
import type { Unread } from '../shared/json-fields.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import type { Quirks } from '../target-traits.ts'
import { comment, errorEvent, type Frame, heartbeatEvent } from './chunk.ts'
import { decodeError, encodeError } from './error.ts'
import type { QuirkEdits } from './quirks.ts'

/** The part of the chat codec that every call needs. */
export const chatWire: WireCodec = {
  format: 'chat',
  loadRequestCheck: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  loadModelList: lazy(() => import('./model-list.ts')),
  decodeError,
  encodeError,
  prepareWireEdit: prepareWireEdit,
  wireEdit,
  isResponse: ({ choices }) => Array.isArray(choices) && choices.length > 0,
  errorWithin,
  tapResponse,
  tapStream,
  tierFields: ['service_tier'],
  affinity: { keys: ['prompt_cache_key'], tools: 'tools', prefix: [], turns: 'messages' },
  textFields: {
    response: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
    event: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
  },
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

/** Code for upstreams with quirks, loaded on first use. */
const fitter = lazy(() => import('./quirks.ts').then(({ applyQuirks: fit }) => fit))

/** Quirks that change no chat body. OpenAI has no others. */
const quirksOfOtherFormats: ReadonlySet<string> = new Set<keyof Quirks>([
  'laterChanges',
  'sealedReasoning',
  'threads',
  'thinking',
  'systemTurns',
  'defaultMaxTokens',
])

const isPlain = (quirks: Quirks): boolean => {
  for (const name in quirks) if (!quirksOfOtherFormats.has(name)) return false
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
  if (fit instanceof Promise)
    throw new Error('The module that adapts bodies to quirks is not loaded: wait for wireReady')
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

/**
 * Returns the error of a response or chunk that also holds choices, as an error body. OpenRouter documents both: an `error` next to the
 * choices, and a choice that finished with `error`, under the status 200.
 */
export function errorWithin(body: JsonObject): JsonObject | undefined {
  if (body.error) return body
  if (!Array.isArray(body.choices)) return undefined
  const failed = body.choices.find((choice) => isObject(choice) && choice.finish_reason === 'error')
  if (!isObject(failed)) return undefined
  return { error: failed.error ?? 'The upstream ended its response with an error.' }
}

export function tapResponse(body: JsonObject): ResponseTap {
  const out: ResponseTap = {}
  const choices = Array.isArray(body.choices) ? body.choices : []
  if (choices.length === 0 && isObject(body.error)) return { error: decodeError(200, body) }
  const usage = usageOf(body, choices)
  if (usage !== undefined) out.usage = usage
  const [first] = choices
  if (isObject(first) && typeof first.finish_reason === 'string') out.finish = first.finish_reason
  const audioIds = choices.map(audioIdOf).filter((id) => id !== undefined)
  const received = audioIds.length === 0 ? undefined : receivedReferences('responses', audioIds)
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
  const { withholdUsage, request = {} } = options
  const wanted = typeof request.n === 'number' ? request.n : 1
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
    const counted = usageOf(chunk, choices)
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
          throw new GatewayError('upstream_bad_response', 'The upstream closed the stream without a response.')
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

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Groq's older models report usage in `x_groq`, Moonshot's models in the choice. */
const groqUsage = (fields: Unread): Json | undefined => (isObject(fields.x_groq) ? fields.x_groq.usage : undefined)
function lastChoiceUsage(choices: readonly Json[]): Json | undefined {
  const last = choices[choices.length - 1]
  return isObject(last) ? last.usage : undefined
}

/** Decodes the usage object of any provider; undefined without counts. Totals include their parts, as in the IR. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = count(value.prompt_tokens)
  const completion = count(value.completion_tokens)
  if (prompt === undefined && completion === undefined) return undefined
  const input = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  const output = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {}
  const counts: Counts = {
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    total: count(value.total_tokens),
    // The cached part of the prompt, by provider.
    cacheRead:
      count(input.cached_tokens) ??
      count(value.prompt_cache_hit_tokens) ??
      count(value.num_cached_tokens) ??
      count(value.cached_tokens),
    cacheWrite: count(input.cache_write_tokens) ?? count(value.cache_creation_input_tokens),
    audio: count(input.audio_tokens),
    audioSeconds: count(value.prompt_audio_seconds),
    reasoning: count(output.reasoning_tokens),
  }
  const { read, written, audio = counts.audio } = totalsOf(counts)
  const usage: Usage = { input: { total: read }, output: { total: written }, raw: { format: 'chat', value } }
  put(usage.input, 'cacheRead', counts.cacheRead)
  put(usage.input, 'cacheWrite', writtenWithin(read, counts))
  put(usage.input, 'audio', audio)
  put(usage.input, 'image', count(input.image_tokens))
  put(usage.output, 'reasoning', counts.reasoning)
  put(usage.output, 'audio', count(output.audio_tokens))
  put(usage.output, 'image', count(output.image_tokens))
  const searches = count(value.num_search_queries)
  if (searches !== undefined && searches > 0) addBilled(usage, { units: { searches } })
  return usage
}

/** Reads the usage of a response or a chunk, and the tier that served the call. */
export function usageOf(body: JsonObject, choices: readonly Json[]): Usage | undefined {
  const usage = decodeUsage(body.usage ?? groqUsage(body) ?? lastChoiceUsage(choices))
  const tier = billedTier(body.service_tier)
  if (usage !== undefined && tier !== undefined) addBilled(usage, { tier })
  return usage
}

interface Counts {
  readonly prompt: number
  readonly completion: number
  readonly total: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
  readonly audio: number | undefined
  readonly audioSeconds: number | undefined
  readonly reasoning: number | undefined
}

/**
 * Completes the totals. Some providers leave a part out of `prompt_tokens` or `completion_tokens`. The total shows the number of missing tokens,
 * and the part with that number was left out: Mistral's audio input, a separate cache count, reasoning of xAI and of Google's endpoint.
 */
function totalsOf(counts: Counts): { readonly read: number; readonly written: number; readonly audio?: number } {
  const { prompt, completion, total, cacheRead = 0, cacheWrite = 0, audio, audioSeconds = 0, reasoning } = counts
  const cached = cacheRead + cacheWrite
  const missing = total === undefined ? 0 : total - prompt - completion
  if (missing > 0 && missing === reasoning) return { read: prompt, written: completion + missing }
  if (missing > 0 && (missing === audio || missing === cached)) return { read: prompt + missing, written: completion }
  // Mistral's models for audio report its seconds instead of its tokens.
  if (missing > 0 && audioSeconds > 0) return { read: prompt + missing, written: completion, audio: missing }
  // Azure's Grok: the cached tokens exceed the prompt tokens.
  if (cacheRead > prompt) return { read: prompt + cached, written: completion }
  return { read: prompt, written: missing > 0 && reasoning === undefined ? completion + missing : completion }
}

/** OpenRouter may count the same tokens as read from and as written to the cache. */
const writtenWithin = (read: number, { cacheRead = 0, cacheWrite }: Counts): number | undefined =>
  cacheWrite === undefined ? undefined : Math.min(cacheWrite, Math.max(0, read - cacheRead))

/** Returns whether a usage object has chat's fields. */
export const isChatUsage = (value: JsonObject): boolean =>
  typeof value.prompt_tokens === 'number' && value.input_tokens === undefined
