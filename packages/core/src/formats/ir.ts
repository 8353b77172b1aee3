// The intermediate representation (IR): one vocabulary for the chat formats.
// What has a meaning in two or more formats has a name here. What has a meaning in one travels verbatim in `extra`
// (a field) or `native` (a block), tagged with the format that owns it: the owner's codec writes it back, every other
// codec reports it as a loss.

import type { ErrorInfo } from '../base/errors.ts'
import type { Json, JsonObject } from '../base/json/json.ts'
import type { AnyFormat, UpstreamFormat } from '../base/names.ts'

/** Billable units other than tokens. */
export interface BillableUnits {
  /** Generated images. */
  readonly images?: number
  /** Seconds of audio input. */
  readonly seconds?: number
  /** Characters of generated speech. */
  readonly characters?: number
  /** Searches that the provider made for the model; for rerank, one for every 100 documents. */
  readonly searches?: number
  /** Pages that the provider fetched for the model. */
  readonly fetches?: number
  /** Code executions that the provider counted. Their time is reported by no provider. */
  readonly executions?: number
}

/** The tokens of one run of a model within a call, such as a compaction, an advisor or a fallback of the provider. */
export interface ModelRun {
  /** The model's name at the upstream. Absent: the model of the call. */
  readonly model?: string
  readonly input: Usage['input']
  readonly output: Usage['output']
  /** Input tokens of the largest request, for the sum of several ones. Absent: one request. */
  readonly largestInput?: number
}

/** What a provider bills for a call besides the counts of its usage. */
export interface Billed {
  readonly units?: BillableUnits
  /** The runs whose tokens the counts leave out, or that another model made. */
  readonly runs?: readonly ModelRun[]
  /** The tier that served the call, such as `priority` or `flex`. Absent: the usual one. */
  readonly tier?: string
  /** The tokens of `audio` and `image` of the input that are also part of `cacheRead`. Absent: unknown. */
  readonly cached?: { readonly audio: number; readonly image: number }
}

/** Fields that only the named format has, verbatim. */
export type Extra = { readonly [F in AnyFormat]?: JsonObject }

/** A value that only its issuer can read: a thought signature, encrypted reasoning, a file id. */
export interface Sealed {
  readonly issuer: UpstreamFormat
  readonly data: string
}

/** JSON Pointer of a node in the sender's body, for loss reports only. */
export interface Located {
  at?: string
}
/** How long a provider keeps a cached prompt at least. */
export type CacheLifetime = '5m' | '30m' | '1h' | '12h'

/** The prompt up to this node is to be cached. A type and not an interface: parts are compared as JSON. */
export type CacheHint = {
  ttl?: CacheLifetime
  /** The place of the hint, if it is not in the node itself. */
  at?: string
  /** The hint is an OpenAI breakpoint, or the target's model accepts one. */
  isBreakpoint?: boolean
}

/** Settings of the provider's prompt cache for a whole request. */
export interface PromptCache {
  /** True: the provider chooses where the cached prompt ends, in addition to the hints. False: it does not. */
  automatic?: boolean
  ttl?: CacheLifetime
  /** The request only fills the cache. No response is generated. */
  prewarm?: boolean
  /** The settings are OpenAI's, or the target's model accepts them. */
  isBreakpoint?: boolean
}

interface Annotated extends Located {
  cache?: CacheHint
  extra?: Extra
}

export interface ModelRequest {
  model: string
  turns: Turn[]
  stream: boolean
  sampling?: Sampling
  tools?: { list: Tool[]; choice?: ToolChoice; parallel?: boolean }
  reasoning?: Reasoning
  output?: Output
  user?: { id?: string; cacheKey?: string; safetyId?: string }
  metadata?: Record<string, string>
  serviceTier?: string
  cache?: PromptCache
  extra?: Extra
  /** Paths of IR fields in the client's body, keyed `sampling.maxTokens`; see `fieldPointer` for the defaults. */
  at?: { [irField: string]: string }
}
export interface Sampling {
  temperature?: number
  topP?: number
  topK?: number
  seed?: number
  logitBias?: Record<string, number>
  presencePenalty?: number
  frequencyPenalty?: number
  stop?: string[]
  /** Upper bound of generated tokens, reasoning included. */
  maxTokens?: number
  /** Number of requested choices (`n`). */
  choices?: number
}
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { name: string }
  | { allowed: string[]; mode: 'auto' | 'required' }
export interface Reasoning {
  effort?: Effort
  budgetTokens?: number
  /** The model decides how much to reason. `false`: an effort is asked for, but reasoning as such is not. */
  adaptive?: boolean
  /** Reasoning is explicitly disabled (`thinking: {type: 'disabled'}`), rather than absent. */
  off?: boolean
  summary?: 'auto' | 'concise' | 'detailed' | 'none'
}
export interface Output {
  format?:
    | { type: 'text' }
    | { type: 'json'; schema?: JsonObject; name?: string; description?: string; strict?: boolean }
  modalities?: string[]
  audio?: JsonObject
  /** Asked for log probabilities; the number of alternatives (0: only the chosen token). */
  logprobs?: number
  verbosity?: 'low' | 'medium' | 'high'
  /** The client requested usage in the stream. */
  includeUsage?: boolean
}
/** How much a model reasons. Models without a level get their nearest one. */
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/**
 * Tool results are parts of a user turn; codecs whose wire splits them (chat, responses) split on encode and merge on
 * decode (adjacent tool messages become one turn).
 */
export interface Turn extends Annotated {
  role: 'system' | 'developer' | 'user' | 'assistant'
  name?: string
  parts: Part[]
  /** Settings that apply from this turn on, in order. Only turns of the system have them. */
  changes?: SettingsChange[]
}
/** A change of the request's settings within the conversation. Each setting keeps its value until a later change. */
export interface SettingsChange extends Annotated {
  effort?: Effort
  format?: NonNullable<Output['format']>
  /** Tools that are offered from here on. `tools.list` has those with a name, too. */
  addedTools?: Tool[]
  /** Names of tools that are no longer offered. */
  removedTools?: string[]
}

export type Part = TextPart | MediaPart | ReasoningPart | RefusalPart | ToolCallPart | ToolResultPart | NativePart
export interface TextPart extends Annotated {
  type: 'text'
  text: string
  citations?: Citation[]
}
export interface MediaPart extends Annotated {
  type: 'media'
  kind: 'image' | 'audio' | 'video' | 'document'
  source: Source
  mediaType?: string
  name?: string
  detail?: string
}
export interface ReasoningPart extends Annotated {
  type: 'reasoning'
  text: string
  summary?: boolean
  /** The issuer withholds the text; only the seal represents it (redacted thinking). */
  redacted?: boolean
  seal?: Sealed
}
export interface RefusalPart extends Annotated {
  type: 'refusal'
  text: string
}
/** `input` stays the exact text the model wrote: it may not be valid JSON, and `custom` tools are not JSON at all. */
export interface ToolCallPart extends Annotated {
  type: 'tool-call'
  id: string
  name: string
  input: string
  custom?: boolean
  seal?: Sealed
}
export interface ToolResultPart extends Annotated {
  type: 'tool-result'
  callId: string
  name?: string
  parts: Part[]
  isError?: boolean
}
/** A block of a single format (server tool use, code execution, compaction), kept verbatim and encoded only by its owner. */
export interface NativePart extends Annotated {
  type: 'native'
  format: AnyFormat
  value: JsonObject
  /** Bookkeeping between client and provider: its loss is a note. */
  incidental?: boolean
}
export type Source =
  | { type: 'base64'; data: string }
  | { type: 'url'; url: string }
  | { type: 'text'; text: string }
  | { type: 'file'; seal: Sealed }
export interface Citation {
  url?: string
  title?: string
  /** The cited text. */
  text?: string
  /** Character range within the answer's text part that the citation supports. */
  start?: number
  end?: number
  extra?: Extra
}
export type Tool = Annotated & {
  /** Not offered at first: a turn's `changes` add the tool. It is listed for its name, which calls and choices refer to. */
  deferred?: true
} & (
    | { type: 'function'; name: string; description?: string; schema?: JsonObject; strict?: boolean }
    | { type: 'custom'; name: string; description?: string; grammar?: JsonObject }
    | { type: 'native'; format: AnyFormat; value: JsonObject }
  )

export interface ModelResponse {
  id: string
  model: string
  /** Seconds since 1970; 0 where the format has none. */
  created: number
  choices: Choice[]
  usage?: Usage
  serviceTier?: string
  reasoningChecks?: ReasoningCheck[]
  extra?: Extra
}
/** Earlier reasoning of the request that failed a check of who may read it, and where. */
export interface ReasoningCheck extends Located {
  /** The failed check: the reasoning belongs to another organization, user, model or conversation, or ended with its turn. */
  reason: 'organization' | 'user' | 'model' | 'conversation' | 'turn'
  /** JSON Pointer of the part in the client's request, if the upstream states it. */
  place?: string
  /** The model still got the part. Default: it was removed. */
  isShown?: true
  extra?: Extra
}
export interface Choice {
  parts: Part[]
  finish: Finish
  logprobs?: Json
  extra?: Extra
}
export interface Finish {
  reason:
    | 'stop'
    | 'stop-sequence'
    | 'length'
    | 'context-length'
    | 'tool-calls'
    | 'content-filter'
    | 'refusal'
    | 'pause'
    | 'error'
    | 'other'
  /** The matched stop sequence, if the upstream reports it. */
  sequence?: string
  /** The upstream's own finish reason: the same format writes it back unchanged. */
  raw?: { format: UpstreamFormat; value: string }
  /** The upstream's explanation of the finish reason (`stop_details`, refusal explanation). */
  explanation?: string
  extra?: Extra
}
/** `input.total` and `output.total` always include their breakdowns: cached input, reasoning output. */
export interface Usage {
  input: {
    total: number
    cacheRead?: number
    /** All tokens written to a cache, whatever their lifetime. */
    cacheWrite?: number
    /** The part of `cacheWrite` that is kept for an hour. */
    cacheWrite1h?: number
    /** The part of `cacheWrite` that is kept for twelve hours. */
    cacheWrite12h?: number
    audio?: number
    image?: number
    tool?: number
  }
  output: { total: number; reasoning?: number; audio?: number; image?: number }
  /** The upstream's own usage object: the same format writes back its other fields. */
  raw?: { format: UpstreamFormat; value: JsonObject }
  /** For the gateway's accounting: no format writes it. */
  billed?: Billed
}

/**
 * A stream is a flat, ordered list of these. `part` numbers are unique within a choice and start in order (0, 1, 2 …);
 * parts may overlap (chat interleaves tool calls). `part-start` carries the part as far as known (empty text, the call's
 * id and name, a native block whole); the deltas add to it; `part-end` may come late, but before `choice-end`.
 * Exactly one of `response-end` and `error` ends a stream.
 */
export type ModelEvent =
  | {
      type: 'response-start'
      id: string
      model: string
      created: number
      serviceTier?: string
      reasoningChecks?: ReasoningCheck[]
      extra?: Extra
    }
  | { type: 'part-start'; choice: number; part: number; value: Part }
  | { type: 'part-delta'; choice: number; part: number; delta: Delta }
  | { type: 'part-end'; choice: number; part: number }
  /** The checks replace those of `response-start`. */
  | {
      type: 'choice-end'
      choice: number
      finish: Finish
      logprobs?: Json
      reasoningChecks?: ReasoningCheck[]
      extra?: Extra
    }
  /** The usage so far; it replaces an earlier one. The tier, if only the end of the stream names it. */
  | { type: 'usage'; usage: Usage; serviceTier?: string }
  | { type: 'native'; format: UpstreamFormat; value: JsonObject }
  | { type: 'error'; error: ErrorInfo }
  | { type: 'response-end' }
export type Delta =
  | TextDelta
  | { type: 'seal'; seal: Sealed }
  | { type: 'citation'; citation: Citation }
  | { type: 'media'; data: string; extra?: Extra }
export type TextDelta = { type: 'text' | 'reasoning' | 'refusal' | 'input'; text: string; logprobs?: Json }

/** Every field either reaches the other side or ends up here. `path` is a JSON Pointer into the body its sender wrote. */
export interface Loss {
  path: string
  /** The body that the path points into: the client's request (default), or the upstream's response. */
  side?: 'answer'
  kind: 'unsupported' | 'approximated' | 'clamped' | 'moved' | 'unknown'
  /** `fatal` always rejects the call with 400; `warn` follows the `onLoss` policy; `note` never rejects a call. */
  severity: 'fatal' | 'warn' | 'note'
  detail: string
}
export interface Report {
  readonly losses: readonly Loss[]
  add(loss: Loss): void
}

/** The type of a rest pattern that must be empty: `const { a, b, ...rest } = part; rest satisfies Nothing` stops compiling when a field is added and not handled. */
export type Nothing = { readonly [key: string]: never }
