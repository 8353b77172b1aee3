import type { UpstreamFormat } from '../base/names.ts'
import type { Effort } from './ir.ts'

/**
 * Departures of one upstream from the format it speaks. Declared per upstream, read by the codec of the format.
 */
export interface Quirks {
  /**
   * Name of the field that bounds the answer's tokens (chat). `either`: nobody knows which, so that translations say
   * `max_tokens` and clients of chat are left to themselves. Default `max_completion_tokens`.
   */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | 'either'
  /**
   * The role that carries developer turns (chat): older servers know only `system`. `either`: nobody knows, so that
   * translations say `system` and clients of chat are left to themselves. Default `developer`.
   */
  readonly developerRole?: 'developer' | 'system' | 'either'
  /**
   * The upstream understands `stream_options` (chat). `implied`: it tells the usage of every stream, so that translations do
   * without. Default true.
   */
  readonly streamOptions?: boolean | 'implied'
  /**
   * Fields that the upstream lacks (chat), by name: `n`, `messages[].name`, `messages[user].name`. A call that holds a
   * `refused` one fails, so that it is withheld; so is a `limited` one, unless it says what is done anyway. An `ignored` one
   * has no effect, and is withheld from translations only. All are reported, unless they ask for nothing beyond the default.
   */
  readonly lacks?: { readonly [field: string]: 'refused' | 'limited' | 'ignored' }
  /** Fields that the upstream knows by a name of its own (chat): `{ seed: 'random_seed' }`. Default: none. */
  readonly fieldNames?: { readonly [field: string]: string }
  /** Words of `reasoning_effort` that the upstream takes (chat); for others the nearest is sent, and reported. Default: all. */
  readonly efforts?: readonly Effort[]
  /** Reasoning is switched off by `thinking: {type: 'disabled'}` in place of the effort `none` (chat). Default false. */
  readonly thinkingSwitch?: boolean
  /** The forms of JSON answers that can be asked for (chat). Default: both; for the other the nearest is sent, and reported. */
  readonly jsonFormats?: readonly ('json_object' | 'json_schema')[]
  /**
   * How a tool choice may be written (chat): in words alone, or also as a function by its name; a choice among several tools
   * is OpenAI's own. What cannot be written is said by sending fewer tools. Default: any way.
   */
  readonly toolChoices?: 'words' | 'names'
  /** The ids of calls have to be nine letters and digits (chat); others are replaced, the same in every turn. Default false. */
  readonly shortCallIds?: boolean
  /**
   * Turns of user and assistant have to alternate behind the system's (chat): those of one role in a row are sent as one, and
   * the system's before all others. Default false.
   */
  readonly alternatingRoles?: boolean
  /**
   * The upstream ends its streams without `[DONE]` once every choice has its finish reason (chat). Default false: such a stream ends
   * well only if the end of its body is marked.
   */
  readonly doneOptional?: boolean
  /** The upstream reads `cache_control` on messages, parts and tools (chat). Default false: cache hints are reported as notes. */
  readonly cacheControl?: boolean
  /** The upstream takes `top_k` (chat). Default false: it is reported. */
  readonly topK?: boolean
  /** The upstream takes `reasoning: {effort, max_tokens, …}` in place of `reasoning_effort` (chat). Default false. */
  readonly reasoningObject?: boolean
  /** The assistant message's field that takes earlier reasoning back (chat). Default: none, the reasoning is withheld and reported. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning'
  /**
   * How the upstream takes a document by its address (chat): in place of a file's data, or as a `document_url` part, which
   * then stands for documents sent along too. Default: not at all, the call is refused.
   */
  readonly documentUrls?: 'file_data' | 'document_url'
  /** `input_audio` holds the audio itself, without its format (chat). Default: an object with both. */
  readonly bareAudio?: boolean
  /** The model's reasoning can be asked for in sealed form (responses). Default: by the model's name, see the codec's table. */
  readonly sealedReasoning?: boolean
  /** How the model takes a wish for reasoning (messages). Default: by the model's name, see the codec's table. */
  readonly thinking?: 'adaptive' | 'budget' | 'none'
  /** The upstream takes system messages in the middle of a conversation (messages). Default: by the model's name, see the codec's table. */
  readonly systemTurns?: boolean
  /**
   * Settings that the upstream lets a request change within its conversation (messages, responses), as far as the model does. Default:
   * none; the last values apply to the whole request, which is reported.
   */
  readonly laterChanges?: readonly ('effort' | 'tools')[]
  /** The upstream keeps threads (messages). Default false: a call with `thread` is refused, and Anthropic's SDK sends the whole conversation. */
  readonly threads?: boolean
  /** `max_tokens` to send when the client named none and the format requires one (messages); reported if an answer ends at it. Default: by the model's name. */
  readonly defaultMaxTokens?: number
}

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
