import { type CompactionWay, compactionBy, compactionProblems, webSocketsBy } from './openai-compatible.ts'
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

/** Options of `openai`. */
export interface OpenAIOptions extends UpstreamOptions {
  /**
   * Formats to use, best first. Requests in other formats are translated to the first one in which the model accepts them. Default
   * `['chat', 'responses']`.
   */
  formats?: readonly ('chat' | 'responses')[]
  /**
   * Ways in which the server compacts conversations: `/responses/compact` (`'path'`), and the item `compaction_trigger` (`'trigger'`).
   * Default: both at OpenAI's own address, none at another `baseURL`.
   */
  compaction?: readonly CompactionWay[]
  /**
   * The server accepts requests in the format responses on a WebSocket, at the URL of the format. Default: true at OpenAI's own address,
   * false at another `baseURL`.
   */
  webSocket?: boolean
}

const paths = { chat: '/chat/completions', responses: '/responses' } as const

/** Creates the upstream for OpenAI. `baseURL` defaults to `https://api.openai.com/v1`. `createGateway` reports invalid options. */
export function openai(options: OpenAIOptions = {}): Upstream {
  const {
    apiKey,
    baseURL = 'https://api.openai.com/v1',
    headers = {},
    formats = ['chat', 'responses'],
    // Other servers with OpenAI's formats, reached through `baseURL`, may not compact.
    compaction = options.baseURL === undefined ? ['path', 'trigger'] : [],
    webSocket = options.baseURL === undefined,
    modelRules,
  } = options
  const problems = [
    ...commonProblems(options, { apiKey: 'OPENAI_API_KEY' }),
    ...compactionProblems(options.compaction),
    ...formats
      .filter((format) => paths[format] === undefined)
      .map((format) => `formats holds '${String(format)}': write 'chat' or 'responses'`),
  ]
  return createUpstream(problems, () => ({
    baseURL: cleanBaseURL(baseURL),
    formats: Object.fromEntries(formats.map((format) => [format, paths[format]])),
    ...webSocketsBy(formats, webSocket),
    realtime: '/realtime',
    objects: {
      files: { chat: '/files' },
      conversations: { responses: '/conversations' },
      batches: { chat: '/batches' },
      calls: { chat: '/realtime/calls' },
    },
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
      'realtime-sessions': {
        'client-secrets': '/realtime/client_secrets',
        sessions: '/realtime/sessions',
        'transcription-sessions': '/realtime/transcription_sessions',
        'translation-secrets': '/realtime/translations/client_secrets',
      },
    },
    // Other servers with OpenAI's chat format, reached through `baseURL`, have no such endpoint.
    ...(formats.includes('responses') ? { countTokens: { responses: '/responses/input_tokens' } } : {}),
    ...compactionBy(formats, compaction),
    ...apiKeyHeaders(apiKey, bearerHeader, headers),
    passHeaders: [],
    // Other servers with its formats know fewer kinds of items.
    quirks: options.baseURL === undefined ? { laterChanges: ['effort', 'tools'] } : {},
    ...combineModelRules(modelRules, openaiModels),
  }))
}
