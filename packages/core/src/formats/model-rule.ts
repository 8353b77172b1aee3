import type { UpstreamFormat } from '../base/names.ts'
import type { Effort } from './ir.ts'

/** Request settings that a model may refuse, named as in the gateway's own vocabulary. */
export type ModelSetting =
  | 'sampling.temperature'
  | 'sampling.topP'
  | 'sampling.stop'
  | 'sampling.presencePenalty'
  | 'sampling.frequencyPenalty'
  | 'sampling.logitBias'
  | 'sampling.seed'
  | 'output.logprobs'
  | 'output.verbosity'
  | 'tools.parallel'

/**
 * What a family of models accepts, as its provider documents it. Rules apply to translated requests only: a request in the
 * upstream's own format passes unchanged, and the provider answers for it.
 */
export interface ModelRule {
  /**
   * How the names begin, in lower case and without a vendor (`openai/`, `openai.`). A number at its end is a whole number: `o3` does not
   * match `o365-assistant`. The first rule that matches applies.
   */
  readonly model: string
  /** Another name whose rule applies: for deployments and aliases with names of their own. */
  readonly like?: string
  /** Day on which the facts were last checked, as `2026-11-23`. */
  readonly checked?: string
  /** Address of the documentation or the recorded refusal. */
  readonly source?: string
  /** Formats in which the provider does not serve the model. Default: none. */
  readonly notServedIn?: readonly UpstreamFormat[]
  /** Efforts that the model accepts; `[]`: it does not reason. Default: all. */
  readonly efforts?: readonly Effort[]
  /** Effort that applies when the request names none. Default `medium`. */
  readonly defaultEffort?: Effort
  /** Settings that the model refuses. */
  readonly refuses?: readonly ModelSetting[]
  /** Settings that the model refuses unless its effort is `none`. */
  readonly refusesWhileReasoning?: readonly ModelSetting[]
  /** Settings that the model lets a request change within its conversation, where the upstream does. Default: none. */
  readonly laterChanges?: readonly ('effort' | 'tools')[]
  /** What single formats accept less of. */
  readonly formats?: { readonly [F in UpstreamFormat]?: FormatRule }
}

/** What a model accepts in one format, where that is less than in others. */
export interface FormatRule {
  /** Efforts that the model accepts in this format. Default: those of the rule. */
  readonly efforts?: readonly Effort[]
  /** `without-reasoning`: tools are accepted only with the effort `none`. Default: always accepted. */
  readonly tools?: 'without-reasoning'
}
