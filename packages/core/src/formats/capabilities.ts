import type { Quirks } from './target-traits.ts'

export type UsageFeature = Extract<ResponseFeature, `usage.${string}`>

/** The feature of each field of a usage object. `shown`: clients can derive it, or get it elsewhere. */
export interface UsageFields {
  /** A list describes the fields of its entries. */
  readonly [field: string]: UsageFeature | 'shown' | UncountedText | UsageFields | readonly [UsageFields]
}

/** A field without a feature, which counts nothing if it has this text. */
export interface UncountedText {
  readonly uncounted: string
}

/** Returns whether the client is shown a feature of the usage. */
export type IsShown = (feature: UsageFeature) => boolean

/** The features that a format supports. Each codec declares them, a test checks them against the code, and `docs/reference/formats.md` lists them. */
export interface Capabilities {
  readonly requests: { readonly [F in RequestFeature]: RequestSupport }
  readonly responses: { readonly [F in ResponseFeature]: ResponseSupport }
}

/** The features that clients of a format can use, and receive. */
export interface ClientCapabilities {
  readonly requests: { readonly [F in RequestFeature]: Pick<RequestSupport, 'client'> }
  readonly responses: { readonly [F in ResponseFeature]: Pick<ResponseSupport, 'client'> }
}

/**
 * `kept`: preserved. `changed`: preserved in another form, which the text describes. `reported`: lost, and listed in the loss report.
 * `refused`: the call fails.
 */
export type Verdict = 'kept' | 'reported' | 'refused' | { readonly changed: string }

export interface RequestSupport {
  /** A client of the format can use the feature. */
  readonly client: boolean
  /** The result for an upstream of the format, if the model accepts everything that the format has. */
  readonly upstream: Verdict
  /** Upstreams with this quirk keep the feature. */
  readonly keptWith?: keyof Quirks
}

export interface ResponseSupport {
  /** An upstream of the format can send the feature. */
  readonly upstream: boolean
  /** The result for a client of the format, whole or as a stream. */
  readonly client: Verdict
}

export const verdictWord = (verdict: Verdict): 'kept' | 'changed' | 'reported' | 'refused' =>
  typeof verdict === 'string' ? verdict : 'changed'

/** The features of a request, as users know them. Request fields have their IR name. */
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

/** The features of a response. */
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
