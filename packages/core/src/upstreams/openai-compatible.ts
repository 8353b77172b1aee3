import type { Format, OperationName } from '../base/names.ts'
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

/** What `openaiCompatible` takes: what is known of the server, as data. */
export interface CompatibleOptions extends UpstreamOptions {
  /** Address up to and including the version, as its docs give it (`http://localhost:11434/v1`). */
  baseURL: string
  /** Formats the server speaks natively, best first. Default `['chat']`. */
  formats?: readonly ('chat' | 'messages' | 'responses')[]
  /**
   * Formats in which the server counts tokens without generating: `/messages/count_tokens`, `/responses/input_tokens`.
   * Default none: counts are estimates.
   */
  countTokens?: readonly ('messages' | 'responses')[]
  /**
   * What the server does beside chat, in OpenAI's dialect (`rerank`: in Jina's, as Together, OpenRouter and vLLM have it).
   * Without `completions`, chat stands in for them. Default `['embeddings']`.
   */
  operations?: readonly Exclude<OperationName, 'realtime-sessions'>[]
  /** Whether the server takes realtime sessions: a WebSocket on `/realtime`. Default false. */
  realtime?: boolean
  /**
   * Where the server departs from the format. Default: translations say `max_tokens` and `system`, which every such server
   * knows.
   */
  quirks?: Quirks
}

const paths: { readonly [F in Format]?: string } = {
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

const countPaths = { messages: '/messages/count_tokens', responses: '/responses/input_tokens' } as const

/**
 * Any server that speaks OpenAI's chat completions (or Anthropic's messages). For many there is a maker of their own, which
 * knows their address and quirks.
 */
export function openaiCompatible(options: CompatibleOptions): Upstream {
  const { baseURL, formats = [], operations = [] } = options
  const problems = [
    ...commonProblems(options),
    ...(baseURL === undefined ? baseUrlProblem(baseURL) : []),
    ...formats
      .filter((format) => paths[format] === undefined)
      .map((format) => `formats holds '${String(format)}': write 'chat', 'messages' or 'responses'`),
    ...operations
      .filter((name) => operationPaths[name] === undefined)
      .map(
        (name) =>
          `operations holds '${String(name)}', which such servers do not have: write some of ${Object.keys(operationPaths).join(', ')}`,
      ),
  ]
  return createUpstream(problems, () => compatibleUpstream(options))
}

/** Builds such an upstream of options that were checked. */
export function compatibleUpstream({
  apiKey,
  baseURL,
  headers = {},
  formats = ['chat'],
  countTokens = [],
  operations = ['embeddings'],
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

/** What makers of upstreams take that speak several formats. */
export interface FormatOptions<F extends string> extends UpstreamOptions {
  /** Formats to speak with it, best first: the first is spoken to clients of formats that it does not speak. */
  formats?: readonly F[]
}

/**
 * A compatible server whose paths are all below `/v1`; its address may be given with or without.
 *
 * @param facts what is known of it; `keyVariable` is the environment variable that its key is usually read from
 * @param options what its user says
 */
export function compatibleProvider(
  facts: CompatibleOptions & { readonly keyVariable?: string },
  options: FormatOptions<'chat' | 'messages' | 'responses'>,
): Upstream {
  const { apiKey, baseURL = facts.baseURL, headers, formats = facts.formats, modelRules } = options
  const { formats: all = ['chat'], countTokens = [] } = facts
  const spoken = formats ?? all
  const problems = [
    ...commonProblems(options, { apiKey: facts.keyVariable }),
    ...spoken
      .filter((format) => !all.includes(format))
      .map((format) => `formats holds '${String(format)}': write some of ${all.join(', ')}`),
    ...(spoken.length === 0 ? [`formats is empty: write some of ${all.join(', ')}, or leave it out`] : []),
  ]
  return createUpstream(problems, () =>
    compatibleUpstream({
      ...facts,
      baseURL: `${cleanBaseURL(baseURL, '/v1')}/v1`,
      formats: spoken,
      countTokens: countTokens.filter((format) => spoken.includes(format)),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(headers === undefined ? {} : { headers }),
      modelRules: [...(modelRules ?? []), ...(facts.modelRules ?? [])],
    }),
  )
}
