import type { UpstreamFormat } from '../base/names.ts'
import type { Effort } from './ir.ts'
import type { ModelCard } from './model-card.ts'

/** Deviations of one upstream from the format it speaks. Each upstream declares them; the codec of the format reads them. */
export interface Quirks {
  /**
   * Name of the field that bounds the output tokens (chat). `either`: unknown, so that translations write `max_tokens` and pass-through
   * leaves the client's field unchanged. Default `max_completion_tokens`; the factory `openaiCompatible` sets `either`.
   */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | 'either'
  /**
   * The role of developer turns (chat): older servers know only `system`. `either`: unknown, so that translations write `system` and
   * pass-through leaves the client's role unchanged. Default `developer`.
   */
  readonly developerRole?: 'developer' | 'system' | 'either'
  /**
   * The upstream accepts `stream_options` (chat). `implied`: it reports usage in every stream, so that translations omit the field.
   * Default true.
   */
  readonly streamOptions?: boolean | 'implied'
  /**
   * Fields that the upstream lacks (chat), by name: `n`, `messages[].name`, `messages[user].name`. `refused`: the upstream would reject the
   * call, so the field is removed. `limited`: the same, unless the value is the default. `ignored`: the field has no effect and is removed
   * from translations only. Every removal is reported, unless the value is the default.
   */
  readonly lacks?: { readonly [field: string]: 'refused' | 'limited' | 'ignored' }
  /** Fields that have another name at the upstream (chat): `{ seed: 'random_seed' }`. Default: none. */
  readonly fieldNames?: { readonly [field: string]: string }
  /** Values of `reasoning_effort` that the upstream accepts (chat). Other values become the nearest one, which is reported. Default: all. */
  readonly efforts?: readonly Effort[]
  /** Reasoning is switched off by `thinking: {type: 'disabled'}` in place of the effort `none` (chat). Default false. */
  readonly thinkingSwitch?: boolean
  /** JSON response formats that the upstream accepts (chat). The other one becomes the nearest, which is reported. Default: both. */
  readonly jsonFormats?: readonly ('json_object' | 'json_schema')[]
  /**
   * Accepted forms of a tool choice (chat): words only, or also a function's name. Only OpenAI accepts a list of allowed tools. Other
   * choices are expressed by sending fewer tools. Default: all forms.
   */
  readonly toolChoices?: 'words' | 'names'
  /** Ids of calls must be nine letters and digits (chat). Others are replaced, with the same id in every turn. Default false. */
  readonly shortCallIds?: boolean
  /**
   * User and assistant turns must alternate after the system turns (chat). Consecutive turns of one role are merged, and system turns go
   * first. Default false.
   */
  readonly alternatingRoles?: boolean
  /**
   * The upstream ends streams without `[DONE]` once every choice has its finish reason (chat). Default false: such a stream is complete
   * only if the HTTP body is complete.
   */
  readonly doneOptional?: boolean
  /** The upstream reads `cache_control` on messages, parts and tools (chat). Default false: cache hints are reported as notes. */
  readonly cacheControl?: boolean
  /** The upstream accepts `top_k` (chat). Default false: the field is reported as lost. */
  readonly topK?: boolean
  /** The upstream accepts `reasoning: {effort, max_tokens, …}` instead of `reasoning_effort` (chat). Default false. */
  readonly reasoningObject?: boolean
  /** The field of assistant messages that holds reasoning, in responses and in earlier turns (chat). Default: none; earlier reasoning is left out and reported. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning'
  /**
   * How the upstream accepts documents by URL (chat): in the field for file data, or as a `document_url` part, which is then also used for
   * inline documents. Default: not at all; the call is rejected.
   */
  readonly documentUrls?: 'file_data' | 'document_url'
  /** `input_audio` is the audio itself, without its format (chat). Default: an object with both. */
  readonly bareAudio?: boolean
  /** The model can return sealed reasoning (responses). Default: by the model's name, see the codec's table. */
  readonly sealedReasoning?: boolean
  /** The form in which reasoning is requested (messages). Default: by the model's name, see the codec's table. */
  readonly thinking?: 'adaptive' | 'budget' | 'none'
  /** The upstream accepts system messages within a conversation (messages). Default: by the model's name, see the codec's table. */
  readonly systemTurns?: boolean
  /**
   * Settings that the upstream lets a request change within its conversation (messages, responses), as far as the model does. Default:
   * none; the last values apply to the whole request, which is reported.
   */
  readonly laterChanges?: readonly ('effort' | 'tools')[]
  /** The upstream stores threads (messages). Default false: a call with `thread` is rejected, and Anthropic's SDK sends the whole conversation. */
  readonly threads?: boolean
  /** `max_tokens` to send if the client set none and the format requires one (messages); reported if a response ends at it. Default: by the model's name. */
  readonly defaultMaxTokens?: number
}

/** Request settings that a model may reject, by their IR name. */
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
 * The settings that a family of models accepts, as its provider documents them. Rules apply to translated requests only: a request in the
 * upstream's own format passes unchanged, and the provider validates it.
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
  /** Short for `card.contextWindow`. */
  readonly contextWindow?: number
  /** Facts for model lists, the Playground and `when: 'fits'`. They precede those of the shipped table. Default: none. */
  readonly card?: ModelCard
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
  /** The model accepts `prompt_cache_breakpoint`, so that cache hints of other formats are sent. Default false: they are reported. */
  readonly cacheBreakpoints?: boolean
  /** Restrictions in single formats. */
  readonly formats?: { readonly [F in UpstreamFormat]?: FormatRule }
}

/** Restrictions of a model in one format. */
export interface FormatRule {
  /** Efforts that the model accepts in this format. Default: those of the rule. */
  readonly efforts?: readonly Effort[]
  /** `without-reasoning`: tools are accepted only with the effort `none`. Default: always accepted. */
  readonly tools?: 'without-reasoning'
}
