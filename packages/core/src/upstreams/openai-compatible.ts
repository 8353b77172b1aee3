import type { Quirks } from '../formats/codec.ts'
import type { Format } from '../formats/ir.ts'
import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

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
  /** Whether the server takes realtime sessions: a WebSocket on `/realtime`. Default false. */
  realtime?: boolean
  /** Where the server departs from the format. Default: `max_tokens` and the `system` role, which every such server knows. */
  quirks?: Quirks
}

const paths: { readonly [F in Format]?: string } = {
  chat: '/chat/completions',
  messages: '/messages',
  responses: '/responses',
}

const countPaths = { messages: '/messages/count_tokens', responses: '/responses/input_tokens' } as const

/** Any server that speaks OpenAI's chat completions (or Anthropic's messages): Ollama, vLLM, OpenRouter, Groq, DeepSeek … */
export function openaiCompatible({
  apiKey,
  baseURL,
  headers = {},
  formats = ['chat'],
  countTokens = [],
  realtime = false,
  quirks = {},
}: CompatibleOptions): Upstream {
  const speaksMessages = formats.includes('messages') || countTokens.includes('messages')
  return {
    baseURL: cleanBaseURL(baseURL),
    formats: Object.fromEntries(formats.map((format) => [format, paths[format]])),
    countTokens: Object.fromEntries(countTokens.map((format) => [format, countPaths[format]])),
    ...(realtime ? { realtime: '/realtime' } : {}),
    headers: {
      ...(speaksMessages ? { 'anthropic-version': '2023-06-01' } : {}),
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    passHeaders: speaksMessages ? ['anthropic-version', 'anthropic-beta'] : [],
    quirks: { maxTokensField: 'max_tokens', developerRole: 'system', ...quirks },
  }
}
