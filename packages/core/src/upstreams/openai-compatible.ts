import type { OperationName, SharedFormat } from '../base/names.ts'
import type { Quirks } from '../formats/target-traits.ts'
import {
  apiKeyHeaders,
  baseUrlProblem,
  bearerHeader,
  cleanBaseURL,
  combineModelRules,
  commonProblems,
  createUpstream,
} from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Options of `openaiCompatible`: the server's address and features. */
export interface CompatibleOptions extends UpstreamOptions {
  /** Base URL up to and including the version, as the server documents it (`http://localhost:11434/v1`). */
  baseURL: string
  /** Formats that the server speaks natively, best first. Default `['chat']`. */
  formats?: readonly ('chat' | 'messages' | 'responses')[]
  /**
   * Formats in which the server counts tokens without generating: `/messages/count_tokens`, `/responses/input_tokens`. Default: none; the
   * gateway then estimates counts.
   */
  countTokens?: readonly ('messages' | 'responses')[]
  /**
   * Operations of the server other than chat, in OpenAI's dialect. For `rerank` it is Jina's dialect, which Together, OpenRouter and vLLM
   * share. Without `completions` the gateway translates text completions to chat. Default `['embeddings']`.
   */
  operations?: readonly Exclude<OperationName, 'realtime-sessions'>[]
  /**
   * Ways in which the server compacts conversations of the format responses: `/responses/compact` (`'path'`), and the item
   * `compaction_trigger` (`'trigger'`). Default: none; the gateway then lets a model write a summary.
   */
  compaction?: readonly CompactionWay[]
  /** The server accepts requests in the format responses on a WebSocket, at the URL of the format. Default false. */
  webSocket?: boolean
  /** Enables realtime sessions: a WebSocket at `/realtime`. Default false. */
  realtime?: boolean
  /**
   * Differences between the server and the formats that it speaks. Default: translated requests use `max_tokens` and the role `system`,
   * which all such servers accept.
   */
  quirks?: Quirks
}

const paths: { readonly [F in SharedFormat]?: string } = {
  chat: '/chat/completions',
  messages: '/messages',
  responses: '/responses',
}

const operationPaths = {
  completions: { openai: '/completions' },
  embeddings: { openai: '/embeddings' },
  moderations: { openai: '/moderations' },
  rerank: { jina: '/rerank' },
  images: { openai: '/images/generations' },
  'image-edits': { openai: '/images/edits' },
  'image-variations': { openai: '/images/variations' },
  transcriptions: { openai: '/audio/transcriptions' },
  translations: { openai: '/audio/translations' },
  speech: { openai: '/audio/speech' },
} as const satisfies { [O in Exclude<OperationName, 'realtime-sessions'>]: object }

/** A way to compact conversations: the endpoint `/responses/compact`, or the item `compaction_trigger`. */
export type CompactionWay = 'path' | 'trigger'

const compactionFacts = { path: { path: '/responses/compact' }, trigger: { trigger: true } } as const

/** Returns how an upstream compacts conversations. Only requests in the format responses can ask for it. */
export const compactionBy = (
  formats: readonly string[],
  ways: readonly CompactionWay[],
): Pick<Upstream, 'compaction'> =>
  formats.includes('responses') && ways.length > 0
    ? { compaction: Object.assign({}, ...ways.map((way) => compactionFacts[way])) }
    : {}

/** Returns the formats in which an upstream accepts requests on a WebSocket. Only responses can be requested so. */
export const webSocketsBy = (formats: readonly string[], webSocket: boolean): Pick<Upstream, 'webSockets'> =>
  webSocket && formats.includes('responses') ? { webSockets: ['responses'] } : {}

/** Returns the problems of the option `compaction`. */
export const compactionProblems = (ways: readonly CompactionWay[] = []): string[] =>
  ways
    .filter((way) => compactionFacts[way] === undefined)
    .map((way) => `compaction holds '${String(way)}': write 'path' or 'trigger'`)

const countPaths = { messages: '/messages/count_tokens', responses: '/responses/input_tokens' } as const

/**
 * Creates an upstream for any server with OpenAI's chat completions, OpenAI's responses or Anthropic's messages. Prefer the factory of a
 * provider if there is one (`groq()`, `vllm()`): it knows the provider's address and quirks.
 */
export function openaiCompatible(options: CompatibleOptions): Upstream {
  const { baseURL, formats = [], operations = [] } = options
  const problems = [
    ...commonProblems(options),
    ...(baseURL === undefined ? baseUrlProblem(baseURL) : []),
    ...formats
      .filter((format) => paths[format] === undefined)
      .map((format) => `formats holds '${String(format)}': write 'chat', 'messages' or 'responses'`),
    ...compactionProblems(options.compaction),
    ...operations
      .filter((name) => operationPaths[name] === undefined)
      .map(
        (name) =>
          `operations holds '${String(name)}', which compatible servers don't have: write some of ${Object.keys(operationPaths).join(', ')}`,
      ),
  ]
  return createUpstream(problems, () => compatibleUpstream(options))
}

/** Builds such an upstream from options that were already checked. */
export function compatibleUpstream({
  apiKey,
  baseURL,
  headers = {},
  formats = ['chat'],
  countTokens = [],
  operations = ['embeddings'],
  compaction = [],
  webSocket = false,
  realtime = false,
  quirks = {},
  modelRules,
}: CompatibleOptions): Upstream {
  const speaksMessages = formats.includes('messages') || countTokens.includes('messages')
  return {
    baseURL: cleanBaseURL(baseURL),
    formats: Object.fromEntries(formats.map((format) => [format, paths[format]])),
    countTokens: Object.fromEntries(countTokens.map((format) => [format, countPaths[format]])),
    operations: Object.fromEntries(operations.map((name) => [name, operationPaths[name]])),
    ...compactionBy(formats, compaction),
    ...webSocketsBy(formats, webSocket),
    ...(realtime ? { realtime: '/realtime' } : {}),
    ...apiKeyHeaders(apiKey, bearerHeader, {
      ...(speaksMessages ? { 'anthropic-version': '2023-06-01' } : {}),
      ...headers,
    }),
    passHeaders: speaksMessages ? ['anthropic-version', 'anthropic-beta'] : [],
    quirks: { maxTokensField: 'either', developerRole: 'either', ...quirks },
    ...combineModelRules(modelRules),
  }
}

/** Options of the factories of providers that speak several formats. */
export interface FormatOptions<F extends string> extends UpstreamOptions {
  /**
   * Formats to use, best first. Requests in other formats are translated to the first one. Default: all formats of the provider;
   * `together()` uses chat only.
   */
  formats?: readonly F[]
}

/**
 * Creates the upstream of a compatible provider with all its paths below `/v1`. Its base URL may include `/v1` or not.
 *
 * @param facts the provider's defaults; `keyVariable` is the environment variable that its key is usually read from
 * @param options the user's options
 */
export function compatibleProvider(
  facts: CompatibleOptions & { readonly keyVariable?: string },
  options: FormatOptions<'chat' | 'messages' | 'responses'>,
): Upstream {
  const { apiKey, baseURL = facts.baseURL, headers, formats = facts.formats, modelRules } = options
  const { formats: all = ['chat'], countTokens = [] } = facts
  const chosen = formats ?? all
  const problems = [
    ...commonProblems(options, { apiKey: facts.keyVariable }),
    ...chosen
      .filter((format) => !all.includes(format))
      .map((format) => `formats holds '${String(format)}': write some of ${all.join(', ')}`),
    ...(chosen.length === 0 ? [`formats is empty: write some of ${all.join(', ')}, or leave it out`] : []),
  ]
  return createUpstream(problems, () =>
    compatibleUpstream({
      ...facts,
      baseURL: `${cleanBaseURL(baseURL, '/v1')}/v1`,
      formats: chosen,
      countTokens: countTokens.filter((format) => chosen.includes(format)),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(headers === undefined ? {} : { headers }),
      modelRules: [...(modelRules ?? []), ...(facts.modelRules ?? [])],
    }),
  )
}
