import { lazy } from '../base/async.ts'
import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import { copyInCamelCase, spellingOf } from '../formats/gemini/spelling.ts'
import { authorizeWithToken, type TokenSource } from './access-token.ts'
import type { GoogleAccount, GoogleCredentials } from './google-account.ts'
import { lazyEventReader } from './lazy-event-reader.ts'
import {
  apiKeyHeaders,
  cleanBaseURL,
  combineModelRules,
  commonProblems,
  createUpstream,
  secretProblem,
  typeName,
} from './provider-options.ts'
import type { ApiKey, BodyEdit, Hosting, Upstream, UpstreamOptions } from './upstream.ts'

/** Options of `vertex`: a project and location, and one credential (`apiKey`, `token`, `keyFile` or `credentials`). */
export interface VertexOptions extends UpstreamOptions {
  /** ID of the Google Cloud project. Required, except in express mode (only an `apiKey`, only Gemini models). */
  project?: string
  /** Region (`europe-west4`), multi-region (`eu`, `us`) or `global`. Default `global`. */
  location?: string
  /** API key of the project or of express mode, or several. */
  apiKey?: ApiKey
  /** Returns an OAuth access token (scope `https://www.googleapis.com/auth/cloud-platform`). */
  token?: TokenSource
  /** Path of a credentials file, such as the one in `GOOGLE_APPLICATION_CREDENTIALS`. Requires google-auth-library. */
  keyFile?: string
  /** Content of a credentials file. Requires google-auth-library. */
  credentials?: GoogleCredentials
  /** API version. `v1beta1` has unreleased fields of Gemini. Default `v1`. */
  apiVersion?: 'v1' | 'v1beta1'
}

/** Location and project become parts of URLs. */
const isName = (text: string): boolean => /^[a-z0-9][a-z0-9.:_-]*$/i.test(text)

/**
 * Creates the upstream for Google's Vertex AI. It serves Gemini models, Claude models (names that begin with `claude`), and open models by
 * their full names (`meta/llama-4-…`).
 *
 * Without `apiKey`, `token`, `keyFile` and `credentials` it uses the application default credentials. That requires the optional package
 * google-auth-library. `createGateway` reports options that contradict each other.
 */
export function vertex(options: VertexOptions): Upstream {
  const {
    project,
    location = 'global',
    apiKey,
    token,
    keyFile,
    credentials: credentialsOption,
    baseURL,
    headers = {},
    apiVersion = 'v1',
    modelRules,
  } = options
  const express = project === undefined
  const root = express ? `/${apiVersion}` : `/${apiVersion}/projects/${project}/locations/${location}`
  const google = `${root}/publishers/google/models`
  const claude = `${root}/publishers/anthropic/models`
  return createUpstream(vertexProblems(options), () => ({
    baseURL: cleanBaseURL(baseURL ?? hostOf(express ? 'global' : location), `/${apiVersion}`),
    formats: express
      ? { gemini: google }
      : { gemini: google, messages: claude, chat: `${root}/endpoints/openapi/chat/completions` },
    serves: vertexServes,
    hosting: vertexHosting,
    countTokens: express ? { gemini: google } : { gemini: google, messages: `${claude}/count-tokens:rawPredict` },
    operations: {
      embeddings: { vertex: google, 'vertex-content': google },
      images: { imagen: google, gemini: google },
      'image-edits': { gemini: google },
      transcriptions: { gemini: google },
      translations: { gemini: google },
      speech: { gemini: google },
    },
    ...apiKeyHeaders(apiKey, (key) => ({ 'x-goog-api-key': key }), headers),
    ...(apiKey === undefined
      ? {
          authorize:
            token === undefined
              ? authorizeWithAccount({ keyFile, credentials: credentialsOption })
              : authorizeWithToken(token),
        }
      : {}),
    // The API version is part of the body, so `anthropic-version` is not forwarded.
    passHeaders: ['anthropic-beta'],
    quirks: { maxTokensField: 'max_tokens', developerRole: 'system' },
    ...combineModelRules(modelRules),
  }))
}

function vertexProblems(options: VertexOptions): string[] {
  const { project, location, apiKey, token, keyFile, credentials: credentialsOption } = options
  const ways = Object.entries({ apiKey, token, keyFile, credentials: credentialsOption }).filter(([, way]) =>
    Boolean(way),
  )
  return [
    ...commonProblems(options, {
      apiKey: 'GOOGLE_API_KEY',
      token: undefined,
      keyFile: 'GOOGLE_APPLICATION_CREDENTIALS',
      credentials: undefined,
    }),
    ...(ways.length > 1
      ? [`${ways.map(([name]) => name).join(' and ')} are set: set only one, because a call carries one credential`]
      : []),
    ...(token === undefined || token === null || typeof token === 'function'
      ? []
      : [`token is ${typeName(token)}: write a function that returns a token`]),
    ...(keyFile === undefined || keyFile === null || (typeof keyFile === 'string' && keyFile.trim() !== '')
      ? []
      : [`keyFile is ${keyFile === '' ? 'empty' : typeName(keyFile)}: write the path of a file`]),
    ...(credentialsOption === undefined ? [] : googleCredentialProblems(credentialsOption)),
    ...(project === undefined && !Object.hasOwn(options, 'apiKey')
      ? [
          'project is missing: set the id of the Google Cloud project. Only express mode, with an apiKey, works without it',
        ]
      : []),
    ...Object.entries({ project, location })
      .filter(([, value]) => value !== undefined && !isName(value))
      .map(([name, value]) => `${name} '${String(value)}' is not a ${name}'s name`),
  ]
}

/** Multi-regions, whose hosts are named differently. */
const multiRegions: ReadonlySet<string> = new Set(['us', 'eu'])

function hostOf(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  return multiRegions.has(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`
}

/** Google's own models have plain names, Anthropic's begin with `claude`, and all others begin with their publisher. */
const isClaude = (model: string): boolean => model.startsWith('claude')
const hasPublisher = (model: string): boolean => model.includes('/')

/** Vertex AI requires the version in the body and ignores the header that other hosts read. */
const version = { anthropic_version: 'vertex-2023-10-16' } as const

const messages: Hosting = {
  modelInPath: { whole: '/{model}:rawPredict', stream: '/{model}:streamRawPredict' },
  edit: () => ({ set: version, drop: ['model'] }),
  // The path of a token count does not name the model, so the body keeps it.
  editCount: () => ({ set: version }),
  toEvents: lazyEventReader(() => import('./vertex-events.ts').then((found) => found.withoutVertexEvents)),
}

const gemini: Hosting = {
  edit: ({ body }) => {
    const contents = withRoles(body.contents)
    return contents === undefined ? {} : { set: { contents } }
  },
  editCount: ({ body }) => flatCount(body),
}

/**
 * Returns the contents with a role in each, or undefined if each has one. The Gemini API treats a missing role as the user's; Vertex AI
 * rejects it.
 */
function withRoles(contents: Json | undefined): Json | undefined {
  if (isObject(contents)) return contents.role === undefined ? [{ role: 'user', ...contents }] : undefined
  if (!Array.isArray(contents) || contents.every((content) => !isObject(content) || hasRole(content))) return undefined
  return contents.map((content) => (isObject(content) && !hasRole(content) ? { ...content, role: 'user' } : content))
}

const hasRole = ({ role }: JsonObject): boolean => typeof role === 'string' && role !== ''

/** Fields of a token count. Vertex AI expects them at the top level, and the Gemini API in a request below one field. */
const counted = ['contents', 'systemInstruction', 'tools', 'generationConfig']

function flatCount(body: JsonObject): BodyEdit {
  const nested = spellingOf(body, 'generateContentRequest')
  const inner = body[nested]
  const request: JsonObject = isObject(inner) ? inner : body
  const set: JsonObject = {}
  if (isObject(inner)) {
    const fields = copyInCamelCase(inner)
    for (const name of counted) {
      const value = fields[name]
      if (value !== undefined && value !== null) set[name] = value
    }
  }
  const contents = withRoles(request.contents)
  if (contents !== undefined) set.contents = contents
  return isObject(inner) ? { set, drop: [nested] } : { set }
}

const vertexHosting: NonNullable<Upstream['hosting']> = { gemini, messages }

/** Each model has exactly one format on Vertex AI. */
const vertexServes: NonNullable<Upstream['serves']> = (format, model) =>
  format === (isClaude(model) ? 'messages' : hasPublisher(model) ? 'chat' : 'gemini')

/** Loads the code for Google accounts with the first call: most gateways have none. */
function authorizeWithAccount(account: GoogleAccount): NonNullable<Upstream['authorize']> {
  const authorize = lazy(() => import('./google-account.ts').then((found) => found.authorizeWithGoogle(account)))
  return async () => (await authorize())()
}

/** Fields that must not be empty if they are present, with their usual environment variables. */
const secretFields = {
  client_email: 'GOOGLE_CLIENT_EMAIL',
  private_key: 'GOOGLE_PRIVATE_KEY',
  client_id: undefined,
  client_secret: undefined,
  refresh_token: undefined,
} as const

/** Returns the problems of credentials in a configuration: fields that are present must have a value. */
function googleCredentialProblems(credentials: GoogleCredentials | null): string[] {
  if (credentials === null) return []
  if (typeof credentials !== 'object' || Array.isArray(credentials))
    return [`credentials is ${typeName(credentials)}: write the content of a credentials file as an object`]
  return Object.entries(secretFields)
    .filter(([field]) => Object.hasOwn(credentials, field))
    .flatMap(([field, variable]) => secretProblem(`credentials.${field}`, credentials[field], { variable }))
}
