import type { Upstream } from './upstream.ts'

/** Azure's APIs: v1, the older one by deployments and API versions, and the model inference API. */
export type AzureApi = 'v1' | 'deployments' | 'inference'
/** Formats that Azure's models speak. */
export type AzureFormat = 'chat' | 'responses' | 'messages'

type Paths = Pick<Upstream, 'operations' | 'realtime'> & {
  readonly formats: { readonly [F in AzureFormat]?: string }
}

/** What both APIs of Azure OpenAI do beside chat, with its path. */
const operationPaths = {
  completions: '/completions',
  embeddings: '/embeddings',
  images: '/images/generations',
  'image-edits': '/images/edits',
  transcriptions: '/audio/transcriptions',
  translations: '/audio/translations',
  speech: '/audio/speech',
} as const

const operationsBelow = (prefix: string): NonNullable<Upstream['operations']> =>
  Object.fromEntries(Object.entries(operationPaths).map(([name, path]) => [name, { openai: prefix + path }]))

/** Claude is at the resource's own address, whichever API its other models are called by. */
const messages = '/anthropic/v1/messages'

const v1 = '/openai/v1'
const deployment = '/openai/deployments/{id}'

const all: { readonly [A in AzureApi]: Paths } = {
  v1: {
    formats: { chat: `${v1}/chat/completions`, responses: `${v1}/responses`, messages },
    operations: {
      ...operationsBelow(v1),
      'realtime-sessions': { 'client-secrets': `${v1}/realtime/client_secrets` },
    },
    realtime: `${v1}/realtime`,
  },
  deployments: {
    // Responses name the deployment in the body here too.
    formats: { chat: `${deployment}/chat/completions`, responses: '/openai/responses', messages },
    operations: {
      ...operationsBelow(deployment),
      'realtime-sessions': { sessions: '/openai/realtimeapi/sessions' },
    },
    realtime: '/openai/realtime?deployment={id}',
  },
  inference: {
    formats: { chat: '/models/chat/completions', messages },
    operations: { embeddings: { openai: '/models/embeddings' } },
  },
}

/** Returns the problems of the chosen formats: an API has some of them only. */
export function formatProblems(api: AzureApi, formats: readonly AzureFormat[]): string[] {
  if (formats.length === 0) return ['formats is empty: name at least one, or leave it out']
  return formats
    .filter((format) => all[api]?.formats[format] === undefined)
    .map((format) => `formats holds '${String(format)}', which the API '${api}' does not have: leave it out`)
}

/** @param formats were checked by `formatProblems` */
export function azurePaths(
  api: AzureApi,
  formats: readonly AzureFormat[],
): Pick<Upstream, 'formats' | 'operations' | 'realtime' | 'countTokens'> {
  const { formats: paths, ...rest } = all[api]
  return {
    formats: Object.fromEntries(formats.map((format) => [format, paths[format]])),
    ...(formats.includes('messages') ? { countTokens: { messages: `${messages}/count_tokens` } } : {}),
    ...rest,
  }
}

const isClaude = (model: string): boolean => model.startsWith('claude')

/** Which deployments speak which format, where there is a choice. A deployment has its model's name unless somebody changed it. */
export function azureServes(formats: readonly AzureFormat[]): Pick<Upstream, 'serves'> {
  if (!formats.includes('messages') || formats.length === 1) return {}
  return { serves: (format, model) => (format === 'messages') === isClaude(model) }
}
