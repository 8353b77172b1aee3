import { ignoreRejection } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { isObject } from '../base/json/object.ts'
import type { JsonObject } from '../base/json/types.ts'
import { type AwsCredentialSource, signCalls } from './aws/sign.ts'
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

/** What both upstreams of Amazon Bedrock take. */
export interface AwsOptions extends UpstreamOptions {
  /** The region that is called (`us-east-1`). */
  region: string
  /** A Bedrock API key, or several; in place of `credentials`. */
  apiKey?: ApiKey | undefined
  /**
   * An access key of AWS, or a function that returns one; calls are signed with it, by the package `aws4fetch`. For what the
   * environment, a profile or a role of the machine has: `credentials: fromNodeProviderChain()` of
   * `@aws-sdk/credential-providers`. Nothing is read from the environment unasked.
   */
  credentials?: AwsCredentialSource
}

/** What `bedrock` takes. */
export interface BedrockOptions extends AwsOptions {
  /**
   * How models are spoken to: `messages` is Anthropic's own format (InvokeModel), for Claude only; `converse` is Bedrock's, for
   * every model. Default: Claude by `messages`, all others by `converse`.
   */
  formats?: readonly ('messages' | 'converse')[]
  /** Whether a model is Claude: for names that do not say so, as those of application inference profiles. Default: its name holds `claude`. */
  isClaude?: (model: string) => boolean
  /** The beta flags of clients (`anthropic-beta`) that are passed on: Bedrock refuses calls with one that it does not know. Default: all. */
  betas?: readonly string[]
}

/**
 * Amazon Bedrock. `baseURL` defaults to `https://bedrock-runtime.{region}.amazonaws.com`. Models are named as Bedrock does: by
 * id, inference profile, or ARN.
 */
export function bedrock(options: BedrockOptions): Upstream {
  const {
    region,
    apiKey,
    credentials,
    baseURL,
    headers = {},
    formats = ['messages', 'converse'],
    isClaude: given = (model) => model.includes('claude'),
    betas,
    modelRules,
  } = options
  const isClaude = (model: string): boolean => {
    const answer: unknown = given(model)
    if (typeof answer === 'boolean') return answer
    ignoreRejection(answer)
    throw new TypeError(`isClaude returned ${typeNameOf(answer)}: return true or false at once`)
  }
  const byMessages = (model: string): boolean => formats.includes('messages') && isClaude(model)
  return createUpstream(awsProblems(options), () => ({
    baseURL: cleanBaseURL(
      baseURL ?? `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
    ),
    formats: Object.fromEntries(formats.map((format) => [format, '/model'])),
    serves: (format, model) => (format === 'messages') === byMessages(model),
    hosting: {
      messages: invokeModel(betas),
      converse: formats.includes('messages') ? converse : claudeByConverse(betas, isClaude),
    },
    // Of `text/event-stream` Bedrock knows nothing.
    ...awsCredentials({ region, apiKey, credentials, headers: { accept: '*/*', ...headers } }, 'bedrock'),
    passHeaders: [],
    quirks: {},
    ...combineModelRules(modelRules),
  }))
}

/** The part of an upstream that says who calls AWS. */
export function awsCredentials(
  {
    region,
    apiKey,
    credentials,
    headers = {},
  }: { [K in 'region' | 'apiKey' | 'credentials' | 'headers']: AwsOptions[K] | undefined },
  service: string,
): Pick<Upstream, 'headers' | 'keys' | 'authorize'> {
  if (credentials === undefined) return apiKeyHeaders(apiKey, bearerHeader, headers)
  return { headers, authorize: signCalls(credentials, { region: region ?? '', service }) }
}

/** Returns the problems of what both upstreams of Amazon Bedrock take. */
export function awsProblems(options: AwsOptions): string[] {
  const { region, apiKey, credentials } = options
  // A region becomes part of an address.
  const isRegion = typeof region === 'string' && /^[a-z0-9-]+$/.test(region)
  return [
    ...commonProblems(options, { apiKey: 'AWS_BEARER_TOKEN_BEDROCK', credentials: undefined }),
    ...(isRegion ? [] : [`region '${String(region)}' is no region of AWS: write it as in 'us-east-1'`]),
    ...(apiKey !== undefined && credentials !== undefined
      ? ['apiKey and credentials are both given: leave one out, because a call carries one credential']
      : []),
    ...(credentials === undefined || credentials === null || typeof credentials === 'function'
      ? []
      : accessKeyProblems(credentials)),
  ]
}

function accessKeyProblems(credentials: unknown): string[] {
  if (typeof credentials !== 'object' || Array.isArray(credentials))
    return [
      `credentials is ${typeName(credentials)}: give accessKeyId and secretAccessKey, or a function that returns them`,
    ]
  const { accessKeyId, secretAccessKey, expiration } = credentials as { readonly [name: string]: unknown }
  const isDate = expiration === undefined || (expiration instanceof Date && Number.isFinite(expiration.getTime()))
  return [
    ...secretProblem('credentials.accessKeyId', accessKeyId, { variable: 'AWS_ACCESS_KEY_ID' }),
    ...secretProblem('credentials.secretAccessKey', secretAccessKey, { variable: 'AWS_SECRET_ACCESS_KEY' }),
    ...(isDate ? [] : ['credentials.expiration is no Date: give a Date, or leave it out']),
  ]
}

/** Claude in its own format: the model and the wish for a stream stand in the path, the version and beta flags in the body. */
const invokeModel = (betas: readonly string[] | undefined): Hosting => ({
  modelInPath: { whole: '/{id}/invoke', stream: '/{id}/invoke-with-response-stream' },
  edit({ body, header }: HostedCall) {
    const set: JsonObject = { anthropic_version: body.anthropic_version ?? 'bedrock-2023-05-31' }
    const flags = flagsOf(header, betas)
    const own = Array.isArray(body.anthropic_beta) ? body.anthropic_beta : []
    if (flags.length > 0) set.anthropic_beta = [...new Set([...own, ...flags])]
    return { set, drop: ['model', 'stream'] }
  },
  toEvents: lazyEventReader(() =>
    import('./aws/bedrock-events.ts').then(({ invokeModelEvents: wrappedEvents }) => wrappedEvents),
  ),
})

/** Converse frames its events. */
const converse: Hosting = {
  toEvents: lazyEventReader(() =>
    import('./aws/bedrock-events.ts').then(({ converseEvents: namedEvents }) => namedEvents),
  ),
}

/** What Converse does not know of Claude's own fields it passes on. */
const claudeByConverse = (betas: readonly string[] | undefined, isClaude: (model: string) => boolean): Hosting => ({
  ...converse,
  edit({ body, model, header }: HostedCall) {
    const flags = isClaude(model) ? flagsOf(header, betas) : []
    if (flags.length === 0) return {}
    const { additionalModelRequestFields: own } = body
    return { set: { additionalModelRequestFields: { ...(isObject(own) ? own : {}), anthropic_beta: flags } } }
  },
})

/** The beta flags of a client's header, those that may be passed on. */
const flagsOf = (header: HostedCall['header'], betas: readonly string[] | undefined): string[] =>
  (header('anthropic-beta') ?? '')
    .split(',')
    .map((flag) => flag.trim())
    .filter((flag) => flag !== '' && (betas === undefined || betas.includes(flag)))

/** What `bedrockMantle` takes. */
export interface BedrockMantleOptions extends AwsOptions {
  /**
   * Which of its two surfaces is called. `v1` has the open-weight models, by responses and chat completions; `openai` has
   * OpenAI's own (`openai.gpt-5.5`), by responses. Default `v1`.
   */
  surface?: 'v1' | 'openai'
}

const surfaces = {
  v1: { path: '/v1', formats: { responses: '/responses', chat: '/chat/completions' } },
  openai: { path: '/openai/v1', formats: { responses: '/responses' } },
} as const

/**
 * Amazon Bedrock's OpenAI-compatible endpoint. `baseURL` defaults to `https://bedrock-mantle.{region}.api.aws` and the surface's
 * path.
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
