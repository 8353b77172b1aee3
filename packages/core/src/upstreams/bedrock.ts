import { ignoreRejection, lazy } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import type { Loss } from '../formats/ir.ts'
import type { AwsCredentialSource } from './aws/sign.ts'
import { lazyEventReader } from './lazy-event-reader.ts'
import { openaiModels } from './openai-models.ts'
import {
  apiKeyHeaders,
  bearerHeader,
  cleanBaseURL,
  combineModelRules,
  commonProblems,
  createUpstream,
  secretProblem,
  typeName,
} from './provider-options.ts'
import type { ApiKey, HostedCall, Hosting, Upstream, UpstreamOptions } from './upstream.ts'

/** Options that `bedrock` and `bedrockMantle` share. */
export interface AwsOptions extends UpstreamOptions {
  /** AWS region to call (`us-east-1`). */
  region: string
  /** Bedrock API key, or several, in place of `credentials`. */
  apiKey?: ApiKey | undefined
  /**
   * AWS access key, or a function that returns one. Calls are signed with it, which requires the package `aws4fetch`.
   *
   * Nothing is read from the environment by default. To use the environment, a profile or the machine's role, set `credentials:
   * fromNodeProviderChain()` from `@aws-sdk/credential-providers`.
   */
  credentials?: AwsCredentialSource
}

/** Options of `bedrock`. */
export interface BedrockOptions extends AwsOptions {
  /**
   * Formats to use. `messages` is Anthropic's own format (InvokeModel), for Claude only. `converse` is Bedrock's format, for every model.
   * Default: messages for Claude, converse for all other models.
   */
  formats?: readonly ('messages' | 'converse')[]
  /**
   * Returns whether a model is Claude, for names that don't show it, such as those of application inference profiles. Default: the name
   * contains `claude`.
   */
  isClaude?: (model: string) => boolean
  /**
   * Client beta flags to forward, from the header `anthropic-beta` and from `anthropic_beta` in bodies of InvokeModel and Converse. Other
   * flags are dropped and reported as losses. Bedrock rejects calls with a flag that it doesn't know. Default: all flags are forwarded.
   */
  betas?: readonly string[]
}

/**
 * Creates the upstream for Amazon Bedrock. `baseURL` defaults to `https://bedrock-runtime.{region}.amazonaws.com`. Models are named by
 * model id, inference profile or ARN.
 */
export function bedrock(options: BedrockOptions): Upstream {
  const {
    region,
    apiKey,
    credentials,
    baseURL,
    headers = {},
    formats = ['messages', 'converse'],
    isClaude: isClaudeOption = (model) => model.includes('claude'),
    betas,
    modelRules,
  } = options
  const isClaude = (model: string): boolean => {
    const result: unknown = isClaudeOption(model)
    if (typeof result === 'boolean') return result
    ignoreRejection(result)
    throw new TypeError(`isClaude returned ${typeNameOf(result)}: return true or false at once`)
  }
  const byMessages = (model: string): boolean => formats.includes('messages') && isClaude(model)
  return createUpstream(awsProblems(options), () => ({
    baseURL: cleanBaseURL(
      baseURL ?? `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
    ),
    formats: Object.fromEntries(formats.map((format) => [format, '/model'])),
    // Converse has every model. Claude's own format loses less of what clients of other formats send.
    serves: (format, model) => format === 'converse' || byMessages(model),
    translates: (format, model) => (format === 'messages') === byMessages(model),
    hosting: {
      messages: invokeModel(betas),
      converse:
        formats.includes('messages') && betas === undefined
          ? converse
          : claudeByConverse(betas, formats.includes('messages') ? () => false : isClaude),
    },
    // Bedrock doesn't support `text/event-stream`.
    ...awsCredentials({ region, apiKey, credentials, headers: { accept: '*/*', ...headers } }, 'bedrock'),
    passHeaders: [],
    quirks: {},
    ...combineModelRules(modelRules),
  }))
}

/** Returns the part of an upstream that authenticates calls to AWS: an API key, or a function that signs each call. */
function awsCredentials(
  {
    region,
    apiKey,
    credentials,
    headers = {},
  }: { [K in 'region' | 'apiKey' | 'credentials' | 'headers']: AwsOptions[K] | undefined },
  service: string,
): Pick<Upstream, 'headers' | 'keys' | 'authorize'> {
  if (credentials === undefined) return apiKeyHeaders(apiKey, bearerHeader, headers)
  // Loaded with the first call: most gateways sign none.
  const signer = lazy(() =>
    import('./aws/sign.ts').then(({ signCalls }) => signCalls(credentials, { region: region ?? '', service })),
  )
  return { headers, authorize: async (call) => (await signer())(call) }
}

/** Returns the problems of the options that `bedrock` and `bedrockMantle` share. */
function awsProblems(options: AwsOptions): string[] {
  const { region, apiKey, credentials } = options
  // The region becomes part of a host name.
  const isRegion = typeof region === 'string' && /^[a-z0-9-]+$/.test(region)
  return [
    ...commonProblems(options, { apiKey: 'AWS_BEARER_TOKEN_BEDROCK', credentials: undefined }),
    ...(isRegion ? [] : [`region '${String(region)}' is not an AWS region: write it as in 'us-east-1'`]),
    ...(apiKey !== undefined && credentials !== undefined
      ? ['apiKey and credentials are both set: set only one, because a call carries one credential']
      : []),
    // `commonProblems` reports undefined and null.
    ...(credentials === undefined || credentials === null || typeof credentials === 'function'
      ? []
      : accessKeyProblems(credentials)),
  ]
}

function accessKeyProblems(credentials: unknown): string[] {
  if (typeof credentials !== 'object' || Array.isArray(credentials))
    return [
      `credentials is ${typeName(credentials)}: write accessKeyId and secretAccessKey, or a function that returns them`,
    ]
  const { accessKeyId, secretAccessKey, expiration } = credentials as { readonly [name: string]: unknown }
  const isDate = expiration === undefined || (expiration instanceof Date && Number.isFinite(expiration.getTime()))
  return [
    ...secretProblem('credentials.accessKeyId', accessKeyId, { variable: 'AWS_ACCESS_KEY_ID' }),
    ...secretProblem('credentials.secretAccessKey', secretAccessKey, { variable: 'AWS_SECRET_ACCESS_KEY' }),
    ...(isDate ? [] : ['credentials.expiration is not a Date: set a Date, or leave it out']),
  ]
}

/**
 * Claude in its own format. The path holds the model and whether the response is streamed; the body holds the API version and beta flags.
 */
const invokeModel = (betas: readonly string[] | undefined): Hosting => ({
  modelInPath: { whole: '/{id}/invoke', stream: '/{id}/invoke-with-response-stream' },
  body: 'invoke',
  edit({ body, header, isRepeated }: HostedCall) {
    const set: JsonObject = { anthropic_version: body.anthropic_version ?? 'bedrock-2023-05-31' }
    const { value, losses } = betaFlags(betas, body.anthropic_beta, ['anthropic_beta'], isRepeated, header)
    if (value !== undefined) set.anthropic_beta = value
    return { set, drop: ['model', 'stream'], losses }
  },
  ...(betas === undefined
    ? {}
    : {
        editHosted({ body, isRepeated }: HostedCall) {
          const { value, losses } = betaFlags(betas, body.anthropic_beta, ['anthropic_beta'], isRepeated)
          return value === undefined ? {} : { set: { anthropic_beta: value }, losses }
        },
      }),
  toEvents: lazyEventReader(() =>
    import('./aws/bedrock-events.ts').then(({ invokeModelEvents: wrappedEvents }) => wrappedEvents),
  ),
  framing: 'chunk-frames',
})

/** Converse frames its events in AWS's binary encoding. */
const converse: Hosting = {
  toEvents: lazyEventReader(() =>
    import('./aws/bedrock-events.ts').then(({ converseEvents: namedEvents }) => namedEvents),
  ),
  framing: 'named-frames',
}

/**
 * Claude through Converse, which forwards Claude's own fields under `additionalModelRequestFields`.
 *
 * @param takesHeader returns whether a model also gets the flags of the client's header
 */
const claudeByConverse = (betas: readonly string[] | undefined, takesHeader: (model: string) => boolean): Hosting => ({
  ...converse,
  edit({ body, model, header, isRepeated }: HostedCall) {
    const { additionalModelRequestFields: fields } = body
    const own = isObject(fields) ? fields : {}
    const at = ['additionalModelRequestFields', 'anthropic_beta']
    const added = takesHeader(model) ? header : undefined
    const { value, losses } = betaFlags(betas, own.anthropic_beta, at, isRepeated, added)
    if (value === undefined) return { losses }
    // Other vendors' models reject the member.
    const flags = value.length === 0 && own.anthropic_beta === undefined ? {} : { anthropic_beta: value }
    return { set: { additionalModelRequestFields: { ...own, ...flags } }, losses }
  },
})

/** Characters of a flag in the report of its loss. */
const longestFlag = 128

interface BetaFlags {
  /** The flags to forward; undefined if the body needs no change. */
  readonly value?: Json[]
  /** The flags that are dropped, and the repetition of the field. */
  readonly losses: readonly Loss[]
}

/**
 * Returns the beta flags of a request that may be forwarded: those of a body's field, then those of the client's header. A value that is
 * not a list counts as one flag.
 *
 * @param betas the flags that may be forwarded. Default: all
 * @param path names from the body's root to the field
 */
function betaFlags(
  betas: readonly string[] | undefined,
  field: Json | undefined,
  path: readonly string[],
  isRepeated: HostedCall['isRepeated'],
  header: HostedCall['header'] = () => undefined,
): BetaFlags {
  const at = `/${path.join('/')}`
  const losses: Loss[] = []
  const isForwarded = (flag: Json, place: string): boolean => {
    if (betas === undefined || (typeof flag === 'string' && betas.includes(flag))) return true
    const name = typeof flag === 'string' ? `'${flag.slice(0, longestFlag)}'` : 'a value that is not a string'
    const detail = `the upstream's option 'betas' does not contain ${name}`
    losses.push({ path: place, kind: 'unsupported', severity: 'note', detail })
    return false
  }
  const own = Array.isArray(field) ? field : field === undefined || field === null ? [] : [field]
  const sent = (header('anthropic-beta') ?? '').split(',').map((flag) => flag.trim())
  const forwarded = own.filter((flag) => isForwarded(flag, at))
  const added = sent.filter((flag) => flag !== '' && isForwarded(flag, '/anthropic-beta'))
  // Bedrock might read another occurrence of the field than the checked one.
  const repeated = (betas !== undefined || added.length > 0) && isRepeated(...path)
  if (repeated) {
    const detail = 'the member occurs more than once, and only its last value is used'
    losses.push({ path: at, kind: 'approximated', severity: 'note', detail })
  }
  if (!repeated && added.length === 0 && forwarded.length === own.length) return { losses }
  return { value: [...new Set([...forwarded, ...added])], losses }
}

/** Options of `bedrockMantle`. */
export interface BedrockMantleOptions extends AwsOptions {
  /**
   * API surface to use. `v1` serves open-weight models through responses and chat completions; `openai` serves OpenAI's models
   * (`openai.gpt-5.5`) through responses. Default `v1`.
   */
  surface?: 'v1' | 'openai'
}

const surfaces = {
  v1: { path: '/v1', formats: { responses: '/responses', chat: '/chat/completions' } },
  openai: { path: '/openai/v1', formats: { responses: '/responses' } },
} as const

/**
 * Creates the upstream for Amazon Bedrock's OpenAI-compatible endpoint. `baseURL` defaults to `https://bedrock-mantle.{region}.api.aws` and
 * the surface's path.
 */
export function bedrockMantle(options: BedrockMantleOptions): Upstream {
  const { region, apiKey, credentials, baseURL, headers, surface = 'v1', modelRules } = options
  const problems = [
    ...awsProblems(options),
    ...(Object.hasOwn(surfaces, surface) ? [] : [`surface is '${String(surface)}': write 'v1' or 'openai'`]),
  ]
  return createUpstream(problems, () => ({
    baseURL: cleanBaseURL(baseURL ?? `https://bedrock-mantle.${region}.api.aws${surfaces[surface].path}`),
    formats: surfaces[surface].formats,
    ...awsCredentials({ region, apiKey, credentials, headers }, 'bedrock-mantle'),
    passHeaders: [],
    quirks: {},
    ...combineModelRules(modelRules, openaiModels),
  }))
}
