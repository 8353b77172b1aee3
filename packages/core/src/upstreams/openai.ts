import { openaiModels } from './openai-models.ts'
import {
  apiKeyHeaders,
  bearerHeader,
  cleanBaseURL,
  combineModelRules,
  commonProblems,
  createUpstream,
} from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** What `openai` takes. */
export interface OpenAIOptions extends UpstreamOptions {
  /** Formats to speak with it, best first. Clients of other formats are translated to the first one that the model accepts the request in. Default `['chat', 'responses']`. */
  formats?: readonly ('chat' | 'responses')[]
}

const paths = { chat: '/chat/completions', responses: '/responses' } as const

/** OpenAI. `baseURL` defaults to `https://api.openai.com/v1`. */
export function openai(options: OpenAIOptions = {}): Upstream {
  const {
    apiKey,
    baseURL = 'https://api.openai.com/v1',
    headers = {},
    formats = ['chat', 'responses'],
    modelRules,
  } = options
  const problems = [
    ...commonProblems(options, { apiKey: 'OPENAI_API_KEY' }),
    ...formats
      .filter((format) => paths[format] === undefined)
      .map((format) => `formats holds '${String(format)}': write 'chat' or 'responses'`),
  ]
  return createUpstream(problems, () => ({
    baseURL: cleanBaseURL(baseURL),
    formats: Object.fromEntries(formats.map((format) => [format, paths[format]])),
    realtime: '/realtime',
    operations: {
      completions: { openai: '/completions' },
      embeddings: { openai: '/embeddings' },
      moderations: { openai: '/moderations' },
      images: { openai: '/images/generations' },
      'image-edits': { openai: '/images/edits' },
      'image-variations': { openai: '/images/variations' },
      transcriptions: { openai: '/audio/transcriptions' },
      translations: { openai: '/audio/translations' },
      speech: { openai: '/audio/speech' },
      'realtime-sessions': { 'client-secrets': '/realtime/client_secrets', sessions: '/realtime/sessions' },
    },
    // A server that only speaks chat is another one than OpenAI's.
    ...(formats.includes('responses') ? { countTokens: { responses: '/responses/input_tokens' } } : {}),
    ...apiKeyHeaders(apiKey, bearerHeader, headers),
    passHeaders: [],
    // Other servers that speak its formats know fewer items.
    quirks: options.baseURL === undefined ? { laterChanges: ['effort', 'tools'] } : {},
    ...combineModelRules(modelRules, openaiModels),
  }))
}
