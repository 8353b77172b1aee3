import type { Quirks } from '../formats/target-traits.ts'
import { authorizeWithToken, type TokenSource } from './access-token.ts'
import { webSocketsBy } from './openai-compatible.ts'
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

/** Options of `azure`. Set the address by `resource` or `baseURL`, and the credential by `apiKey` or `token`. */
export interface AzureOptions extends UpstreamOptions {
  /**
   * Name of the resource. Calls go to `https://{resource}.openai.azure.com`, or to `https://{resource}.services.ai.azure.com` with the
   * format messages or the inference API. Use `baseURL` for another address.
   */
  resource?: string
  /**
   * Address of the resource in place of `resource`, without `/openai`: a private endpoint, `https://{resource}.services.ai.azure.com`, or
   * API Management.
   */
  baseURL?: string | undefined
  /** Returns a Microsoft Entra ID token (scope `https://cognitiveservices.azure.com/.default`), in place of `apiKey`. */
  token?: TokenSource
  /**
   * API to use. Default: `v1`, or `deployments` if `apiVersion` is a date.
   *
   * - `v1`: OpenAI's API, with the deployment's name in the body.
   * - `deployments`: the older API, with the deployment's name in the path and a dated `apiVersion`.
   * - `inference`: `/models/chat/completions`, for models of other vendors on Azure AI Foundry.
   */
  api?: AzureApi
  /**
   * Query parameter `api-version` of each call. Default: none for `v1`, where `preview` enables unreleased features; `2024-10-21` for
   * `deployments`; `2024-05-01-preview` for `inference`.
   */
  apiVersion?: string
  /**
   * Formats to use, best first. Default: chat, and responses if the API has them (`v1`, and `deployments` since 2025-03-01-preview).
   *
   * Add `messages` for Claude on Azure AI Foundry. Deployments whose names begin with `claude` then use messages, and all others use the
   * remaining formats.
   */
  formats?: readonly AzureFormat[]
  /**
   * The API accepts requests in the format responses on a WebSocket, at the URL of the format. Default: true for `v1` with `resource`, and
   * false for other APIs and with `baseURL`.
   */
  webSocket?: boolean
}

const defaultVersions: { readonly [A in AzureApi]?: string } = {
  deployments: '2024-10-21',
  inference: '2024-05-01-preview',
}

/**
 * Creates the upstream for Azure OpenAI and Azure AI Foundry. Models are called by their deployment's name: `{ upstream: 'azure', model:
 * 'my-deployment' }`.
 *
 * `createGateway` reports options that contradict each other, and a missing address or credential.
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
    webSocket = api === 'v1' && baseURL === undefined,
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
  /** Claude is served at the resource's own address, whichever API its other models use. */
  const messages = formats.includes('messages')
  const carry = (key: string) => ({ 'api-key': key, ...(messages ? { 'x-api-key': key } : {}) })
  return createUpstream(problems, () => ({
    baseURL: addressOf(resource, baseURL, messages || api === 'inference'),
    ...azurePaths(api, formats),
    ...azureServes(formats),
    ...webSocketsBy(formats, webSocket),
    ...(version === undefined ? {} : { query: `?api-version=${encodeURIComponent(version)}` }),
    ...apiKeyHeaders(apiKey, carry, {
      ...(messages ? { 'anthropic-version': '2023-06-01' } : {}),
      // Without this header the inference API rejects all fields outside its own short list with 400, even if the model accepts them.
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

/** Returns whether an API offers responses. Dates of versions compare as text. */
const hasResponses = (api: AzureApi, version = ''): boolean =>
  api === 'v1' || (api === 'deployments' && version >= '2025-03-01')

function tokenProblems(options: AzureOptions): string[] {
  const { apiKey, token, resource, headers = {} } = options
  const given: unknown = token
  // An option that is present but undefined was already reported.
  const isMissing = !Object.hasOwn(options, 'apiKey') && !Object.hasOwn(options, 'token')
  if (given !== undefined && given !== null && typeof given !== 'function')
    return [`token is ${typeName(given)}: write a function that returns a token, or set the key as apiKey`]
  if (apiKey !== undefined && token !== undefined)
    return ['apiKey and token are both set: set only one, because a call carries one credential']
  if (resource !== undefined && isMissing && Object.keys(headers).length === 0)
    return ['apiKey is missing: set apiKey (a key of the resource) or token (for Microsoft Entra ID)']
  return []
}

function addressProblems({ resource, baseURL }: AzureOptions): string[] {
  if (resource !== undefined && baseURL !== undefined)
    return ['resource and baseURL are both set: set only one of them']
  if (resource !== undefined)
    return /^[a-z0-9][a-z0-9-]*$/i.test(resource)
      ? []
      : [`resource '${String(resource)}' is not the name of a resource: use baseURL for a URL`]
  if (baseURL === undefined)
    return ["resource is missing: set resource (the name in 'https://{resource}.openai.azure.com') or baseURL"]
  return String(baseURL).includes('/deployments/')
    ? [
        `baseURL '${baseURL}' contains a deployment: end the URL before '/openai', and use the name of the deployment as the model`,
      ]
    : []
}

function versionProblems(api: AzureApi, version: string | undefined): string[] {
  if (api !== 'v1')
    return isDated(version ?? '')
      ? []
      : [`apiVersion is '${version}': the API '${api}' requires a dated version, such as '2024-10-21'`]
  return version !== undefined && isDated(version)
    ? [`apiVersion is '${version}': the v1 API has no dated versions. Leave it out`]
    : []
}

function addressOf(resource: string | undefined, baseURL = '', foundry: boolean): string {
  if (resource !== undefined) return `https://${resource}.${foundry ? 'services.ai' : 'openai'}.azure.com`
  let clean = cleanBaseURL(baseURL)
  // Users copy these endings from the portal and the SDKs, and the paths of the formats begin with them.
  for (const end of ['/v1', '/openai', '/anthropic', '/models'])
    if (clean.endsWith(end)) clean = clean.slice(0, -end.length)
  return clean
}

/** Returns the quirks of older API versions, which lack newer fields and roles. */
function quirksOf(api: AzureApi, version = ''): Quirks {
  if (api === 'v1') return {}
  if (api === 'inference') return { maxTokensField: 'max_tokens', developerRole: 'system' }
  return {
    ...(version < '2024-09' ? { maxTokensField: 'max_tokens', streamOptions: false } : {}),
    ...(version < '2024-12' ? { developerRole: 'system' } : {}),
  }
}

/** Azure's APIs: `v1`, the older API with deployments and API versions in the URL, and the model inference API. */
export type AzureApi = 'v1' | 'deployments' | 'inference'
/** Formats that models on Azure speak. */
export type AzureFormat = 'chat' | 'responses' | 'messages'

type Paths = Pick<Upstream, 'operations' | 'realtime' | 'compaction'> & {
  readonly formats: { readonly [F in AzureFormat]?: string }
}

/** Operations other than chat that both Azure OpenAI APIs offer, with their paths. */
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

const apis: { readonly [A in AzureApi]: Paths } = {
  v1: {
    formats: { chat: `${v1}/chat/completions`, responses: `${v1}/responses`, messages },
    operations: {
      ...operationsBelow(v1),
      'realtime-sessions': { 'client-secrets': `${v1}/realtime/client_secrets` },
    },
    realtime: `${v1}/realtime`,
    compaction: { path: `${v1}/responses/compact` },
  },
  deployments: {
    // Responses name the deployment in the body in this API too.
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

/** Returns the problems of the chosen formats: each API offers only some of them. */
function formatProblems(api: AzureApi, formats: readonly AzureFormat[]): string[] {
  if (formats.length === 0) return ['formats is empty: add at least one, or leave it out']
  return formats
    .filter((format) => apis[api]?.formats[format] === undefined)
    .map((format) => `formats holds '${String(format)}', which the API '${api}' does not have: leave it out`)
}

/**
 * Returns the paths of an API.
 *
 * @param formats already checked by `formatProblems`
 */
function azurePaths(
  api: AzureApi,
  formats: readonly AzureFormat[],
): Pick<Upstream, 'formats' | 'operations' | 'realtime' | 'countTokens' | 'compaction'> {
  const { formats: paths, ...rest } = apis[api]
  return {
    formats: Object.fromEntries(formats.map((format) => [format, paths[format]])),
    ...(formats.includes('messages') ? { countTokens: { messages: `${messages}/count_tokens` } } : {}),
    ...rest,
  }
}

const isClaude = (model: string): boolean => model.startsWith('claude')

/**
 * Returns which deployments speak which format if there is a choice. It assumes that a Claude deployment keeps its model's name, Azure's
 * default.
 */
function azureServes(formats: readonly AzureFormat[]): Pick<Upstream, 'serves'> {
  if (!formats.includes('messages') || formats.length === 1) return {}
  return { serves: (format, model) => (format === 'messages') === isClaude(model) }
}
