import type { Quirks } from '../formats/target-traits.ts'
import { authorizeWithToken, type TokenSource } from './access-token.ts'
import { openaiModels } from './openai-models.ts'
import {
  apiKeyHeaders,
  cleanBaseURL,
  combineModelRules,
  commonProblems,
  createUpstream,
  typeName,
} from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** What `azure` takes: an address by `resource` or `baseURL`, and a key or tokens. */
export interface AzureOptions extends UpstreamOptions {
  /**
   * The resource's name: calls go to `https://{resource}.openai.azure.com`, or to `https://{resource}.services.ai.azure.com`
   * where messages or the inference API are spoken. Or give `baseURL`.
   */
  resource?: string
  /** Another address of the resource, without `/openai`: a private endpoint, `https://{resource}.services.ai.azure.com`, API Management. */
  baseURL?: string | undefined
  /** Gets a Microsoft Entra ID token (scope `https://cognitiveservices.azure.com/.default`), in place of `apiKey`. */
  token?: TokenSource
  /**
   * Which of its APIs to speak. `v1`: that of OpenAI, the deployment's name in the body. `deployments`: the older one, the
   * deployment's name in the path and a dated `apiVersion`. `inference`: `/models/chat/completions`, for models of other
   * vendors on Azure AI Foundry. Default: `v1`, or `deployments` where `apiVersion` is a date.
   */
  api?: AzureApi
  /**
   * `api-version` of each call. Default: none for `v1`, which needs none (`preview` opens what is not released yet);
   * `2024-10-21` for `deployments`; `2024-05-01-preview` for `inference`.
   */
  apiVersion?: string
  /**
   * Formats to speak with it, best first. `messages` are for Claude on Azure AI Foundry: deployments whose name begins with
   * `claude` are then spoken to in messages, all others in the other formats. Default: chat, and responses where the API has
   * them (`v1`, and `deployments` since 2025-03-01-preview).
   */
  formats?: readonly AzureFormat[]
}

const defaultVersions: { readonly [A in AzureApi]?: string } = {
  deployments: '2024-10-21',
  inference: '2024-05-01-preview',
}

/**
 * Azure OpenAI and Azure AI Foundry. A model is called by its deployment's name there: `{ upstream: 'azure', model:
 * 'my-deployment' }`. `createGateway` reports options that contradict each other or leave the address or the credential open.
 */
export function azure(options: AzureOptions): Upstream {
  const {
    apiKey,
    token,
    resource,
    baseURL,
    apiVersion,
    api = apiVersion !== undefined && isDated(apiVersion) ? 'deployments' : 'v1',
    headers = {},
    formats = hasResponses(api, apiVersion) ? ['chat', 'responses'] : ['chat'],
    modelRules,
  } = options
  const version = apiVersion ?? defaultVersions[api]
  const problems = [
    ...commonProblems(options, { apiKey: 'AZURE_OPENAI_API_KEY', token: undefined }),
    ...tokenProblems(options),
    ...addressProblems(options),
    ...versionProblems(api, version),
    ...formatProblems(api, formats),
  ]
  const messages = formats.includes('messages')
  const carry = (key: string) => ({ 'api-key': key, ...(messages ? { 'x-api-key': key } : {}) })
  return createUpstream(problems, () => ({
    baseURL: addressOf(resource, baseURL, messages || api === 'inference'),
    ...azurePaths(api, formats),
    ...azureServes(formats),
    ...(version === undefined ? {} : { query: `?api-version=${encodeURIComponent(version)}` }),
    ...apiKeyHeaders(apiKey, carry, {
      ...(messages ? { 'anthropic-version': '2023-06-01' } : {}),
      // Else every field that is not in its own short list is a 400, though the model would take it.
      ...(api === 'inference' ? { 'extra-parameters': 'pass-through' } : {}),
      ...headers,
    }),
    ...(token === undefined ? {} : { authorize: authorizeWithToken(token) }),
    passHeaders: messages ? ['anthropic-version', 'anthropic-beta'] : [],
    quirks: quirksOf(api, version),
    ...combineModelRules(modelRules, openaiModels),
  }))
}

const isDated = (version: string): boolean => /^\d{4}-\d{2}-\d{2}(-preview)?$/.test(version)

/** Dates of versions compare as text. */
const hasResponses = (api: AzureApi, version = ''): boolean =>
  api === 'v1' || (api === 'deployments' && version >= '2025-03-01')

function tokenProblems(options: AzureOptions): string[] {
  const { apiKey, token, resource, headers = {} } = options
  const given: unknown = token
  // One that is present but undefined was reported as such.
  const isMissing = !Object.hasOwn(options, 'apiKey') && !Object.hasOwn(options, 'token')
  if (given !== undefined && given !== null && typeof given !== 'function')
    return [`token is ${typeName(given)}: give a function that returns a token, or the key as apiKey`]
  if (apiKey !== undefined && token !== undefined)
    return ['apiKey and token are both given: leave one out, because a call carries one credential']
  if (resource !== undefined && isMissing && Object.keys(headers).length === 0)
    return ['apiKey is missing: give apiKey (a key of the resource) or token (for Microsoft Entra ID)']
  return []
}

function addressProblems({ resource, baseURL }: AzureOptions): string[] {
  if (resource !== undefined && baseURL !== undefined) return ['resource and baseURL are both given: leave one out']
  if (resource !== undefined)
    return /^[a-z0-9][a-z0-9-]*$/i.test(resource)
      ? []
      : [`resource '${String(resource)}' is not the name of a resource: for an address use baseURL`]
  if (baseURL === undefined)
    return ["resource is missing: give resource (the name in 'https://{resource}.openai.azure.com') or baseURL"]
  return String(baseURL).includes('/deployments/')
    ? [`baseURL '${baseURL}' names a deployment: end it before '/openai', and name the deployment as the model`]
    : []
}

function versionProblems(api: AzureApi, version: string | undefined): string[] {
  if (api !== 'v1')
    return isDated(version ?? '')
      ? []
      : [`apiVersion is '${version}': the API '${api}' needs a dated one, as in '2024-10-21'`]
  return version !== undefined && isDated(version)
    ? [`apiVersion is '${version}': the v1 API has no dated versions, leave it out`]
    : []
}

function addressOf(resource: string | undefined, baseURL = '', foundry: boolean): string {
  if (resource !== undefined) return `https://${resource}.${foundry ? 'services.ai' : 'openai'}.azure.com`
  let clean = cleanBaseURL(baseURL)
  // As the portal and the SDKs show it: the paths below begin with these themselves.
  for (const end of ['/v1', '/openai', '/anthropic', '/models'])
    if (clean.endsWith(end)) clean = clean.slice(0, -end.length)
  return clean
}

/** What older versions of the API do not know. */
function quirksOf(api: AzureApi, version = ''): Quirks {
  if (api === 'v1') return {}
  if (api === 'inference') return { maxTokensField: 'max_tokens', developerRole: 'system' }
  return {
    ...(version < '2024-09' ? { maxTokensField: 'max_tokens', streamOptions: false } : {}),
    ...(version < '2024-12' ? { developerRole: 'system' } : {}),
  }
}

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
