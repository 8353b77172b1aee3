import type { Quirks } from './target-traits.ts'

export type UsageFeature = Extract<ResponseFeature, `usage.${string}`>

/** Whether the client is shown a feature of the usage. */
export type IsShown = (feature: UsageFeature) => boolean

/**
 * What a format carries, as data: each codec declares it for every feature of the intermediate representation, and a test
 * holds the codecs to it. `docs/formats.md` is made of it.
 */
export interface Capabilities {
  readonly requests: { readonly [F in RequestFeature]: RequestSupport }
  readonly responses: { readonly [F in ResponseFeature]: ResponseSupport }
}

/**
 * `kept`: arrives as it was meant. `changed`: arrives in another form, in words. `reported`: does not arrive, and the
 * report says so. `refused`: the call is not made (or, for an answer, told as an error).
 */
export type Verdict = 'kept' | 'reported' | 'refused' | { readonly changed: string }

export interface RequestSupport {
  /** A client of the format can say it. */
  readonly client: boolean
  /** What becomes of it if an upstream speaks the format, and the model takes what its format has. */
  readonly upstream: Verdict
  /** It is `kept` by upstreams that declare this quirk. */
  readonly keptWith?: keyof Quirks
}

export interface ResponseSupport {
  /** An upstream of the format can say it. */
  readonly upstream: boolean
  /** What a client of the format is shown of it, whole or as a stream. */
  readonly client: Verdict
}

export const verdictWord = (verdict: Verdict): 'kept' | 'changed' | 'reported' | 'refused' =>
  typeof verdict === 'string' ? verdict : 'changed'

/** What a request can say, in units that a user would recognise. Fields of the request have their name in the IR. */
export type RequestFeature =
  | 'sampling.temperature'
  | 'sampling.topP'
  | 'sampling.topK'
  | 'sampling.seed'
  | 'sampling.presencePenalty'
  | 'sampling.frequencyPenalty'
  | 'sampling.logitBias'
  | 'sampling.stop'
  | 'sampling.maxTokens'
  | 'sampling.choices'
  | 'tools.function'
  | 'tools.strict'
  | 'tools.custom'
  | 'tools.grammar'
  | 'tools.native'
  | 'tools.auto'
  | 'tools.none'
  | 'tools.required'
  | 'tools.named'
  | 'tools.allowed'
  | 'tools.serial'
  | 'turns.call'
  | 'turns.customCall'
  | 'turns.result'
  | 'turns.resultImage'
  | 'turns.resultDocument'
  | 'turns.resultError'
  | 'media.imageData'
  | 'media.imageUrl'
  | 'media.imageDetail'
  | 'media.audioData'
  | 'media.audioUrl'
  | 'media.videoData'
  | 'media.videoUrl'
  | 'media.documentData'
  | 'media.documentUrl'
  | 'media.documentText'
  | 'media.documentName'
  | 'media.storedFile'
  | 'reasoning.effort'
  | 'reasoning.budgetTokens'
  | 'reasoning.adaptive'
  | 'reasoning.off'
  | 'reasoning.summary'
  | 'turns.ownReasoning'
  | 'turns.ownRedacted'
  | 'turns.ownLoop'
  | 'turns.openReasoning'
  | 'turns.foreignReasoning'
  | 'turns.foreignCallSeal'
  | 'output.json'
  | 'output.schema'
  | 'output.schemaName'
  | 'output.strict'
  | 'output.modalities'
  | 'output.audio'
  | 'output.logprobs'
  | 'output.verbosity'
  | 'turns.system'
  | 'turns.laterSystem'
  | 'turns.developer'
  | 'turns.laterEffort'
  | 'turns.addedTools'
  | 'turns.removedTools'
  | 'turns.name'
  | 'turns.citations'
  | 'turns.refusal'
  | 'cache.5m'
  | 'cache.1h'
  | 'metadata'
  | 'user.id'
  | 'user.safetyId'
  | 'user.cacheKey'
  | 'serviceTier'
  | 'native'
  | 'unknown'

/** What an answer can say. */
export type ResponseFeature =
  | 'text'
  | 'choices'
  | 'reasoning.text'
  | 'reasoning.summary'
  | 'reasoning.redacted'
  | 'reasoning.seal'
  | 'refusal'
  | 'call'
  | 'customCall'
  | 'callSeal'
  | 'citation.url'
  | 'citation.place'
  | 'citation.quote'
  | 'citation.document'
  | 'logprobs'
  | 'image'
  | 'audio'
  | 'finish.stop'
  | 'finish.stop-sequence'
  | 'finish.length'
  | 'finish.context-length'
  | 'finish.tool-calls'
  | 'finish.content-filter'
  | 'finish.refusal'
  | 'finish.pause'
  | 'finish.error'
  | 'finish.other'
  | 'finish.explanation'
  | 'usage.totals'
  | 'usage.cacheRead'
  | 'usage.cacheWrite'
  | 'usage.cacheWrite1h'
  | 'usage.reasoning'
  | 'usage.audio'
  | 'usage.image'
  | 'usage.tool'
  | 'id'
  | 'created'
  | 'serviceTier'
  | 'native'
  | 'unknown'
