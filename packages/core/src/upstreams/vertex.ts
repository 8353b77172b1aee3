import { isObject } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import { copyInCamelCase, spellingOf } from '../formats/gemini/spelling.ts'
import { authorizeWithToken, cacheUntilExpiry, type TokenSource } from './access-token.ts'
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

/** What `vertex` takes: a project and location, and a key, tokens or credentials of Google Cloud. */
export interface VertexOptions extends UpstreamOptions {
  /** The Google Cloud project's id. Needed, but in express mode (an `apiKey` alone, Gemini models only). */
  project?: string
  /** A region (`europe-west4`), a multi-region (`eu`, `us`) or `global`. Default `global`. */
  location?: string
  /** An API key of the project, or of express mode. */
  apiKey?: ApiKey
  /** Gets an OAuth access token (scope `https://www.googleapis.com/auth/cloud-platform`). */
  token?: TokenSource
  /** A file with credentials, as `GOOGLE_APPLICATION_CREDENTIALS` names one. Needs google-auth-library. */
  keyFile?: string
  /** What such a file holds. Needs google-auth-library. */
  credentials?: GoogleCredentials
  /** Default `v1`. `v1beta1` has fields of Gemini's that are not released yet. */
  apiVersion?: 'v1' | 'v1beta1'
}

/** Location and project become part of addresses. */
const isName = (text: string): boolean => /^[a-z0-9][a-z0-9.:_-]*$/i.test(text)

/**
 * Google's Vertex AI: Gemini models, Claude models (names beginning with `claude`), and its open models by their full names
 * (`meta/llama-4-…`). Without apiKey, token, keyFile and credentials, google-auth-library finds the application default
 * credentials; it is an optional peer, to be installed. `createGateway` reports options that contradict each other.
 */
export function vertex(options: VertexOptions): Upstream {
  const {
    project,
    location = 'global',
    apiKey,
    token,
    keyFile,
    credentials: given,
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
            token === undefined ? authorizeWithGoogle({ keyFile, credentials: given }) : authorizeWithToken(token),
        }
      : {}),
    // The version stands in the body.
    passHeaders: ['anthropic-beta'],
    quirks: { maxTokensField: 'max_tokens', developerRole: 'system' },
    ...combineModelRules(modelRules),
  }))
}

function vertexProblems(options: VertexOptions): string[] {
  const { project, location, apiKey, token, keyFile, credentials: given } = options
  const ways = Object.entries({ apiKey, token, keyFile, credentials: given }).filter(([, way]) => Boolean(way))
  return [
    ...commonProblems(options, {
      apiKey: 'GOOGLE_API_KEY',
      token: undefined,
      keyFile: 'GOOGLE_APPLICATION_CREDENTIALS',
      credentials: undefined,
    }),
    ...(ways.length > 1
      ? [`${ways.map(([name]) => name).join(' and ')} are given: keep one, because a call carries one credential`]
      : []),
    ...(token === undefined || token === null || typeof token === 'function'
      ? []
      : [`token is ${typeName(token)}: give a function that returns a token`]),
    ...(keyFile === undefined || keyFile === null || (typeof keyFile === 'string' && keyFile.trim() !== '')
      ? []
      : [`keyFile is ${keyFile === '' ? 'empty' : typeName(keyFile)}: write the path of a file`]),
    ...(given === undefined ? [] : googleCredentialProblems(given)),
    ...(project === undefined && !Object.hasOwn(options, 'apiKey')
      ? ['project is missing: give the id of the Google Cloud project (only express mode, by apiKey, has none)']
      : []),
    ...Object.entries({ project, location })
      .filter(([, value]) => value !== undefined && !isName(value))
      .map(([name, value]) => `${name} '${String(value)}' is not a ${name}'s name`),
  ]
}

/** Locations that span regions have hosts of another shape. */
const wide: ReadonlySet<string> = new Set(['us', 'eu'])

function hostOf(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  return wide.has(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`
}

/** Google's own models have bare names, Anthropic's begin with `claude`, all others name their publisher first. */
const isClaude = (model: string): boolean => model.startsWith('claude')
const hasPublisher = (model: string): boolean => model.includes('/')

/** Without it the body is refused; the header that says it elsewhere is not read. */
const version = { anthropic_version: 'vertex-2023-10-16' } as const

const messages: Hosting = {
  modelInPath: { whole: '/{model}:rawPredict', stream: '/{model}:streamRawPredict' },
  edit: () => ({ set: version, drop: ['model'] }),
  // A count has no model in its path.
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

/** The Gemini API takes a content without a role for the user's; Vertex AI refuses it. Undefined: each has one. */
function withRoles(contents: Json | undefined): Json | undefined {
  if (isObject(contents)) return contents.role === undefined ? [{ role: 'user', ...contents }] : undefined
  if (!Array.isArray(contents) || contents.every((content) => !isObject(content) || hasRole(content))) return undefined
  return contents.map((content) => (isObject(content) && !hasRole(content) ? { ...content, role: 'user' } : content))
}

const hasRole = ({ role }: JsonObject): boolean => typeof role === 'string' && role !== ''

/** What is counted stands at the top of the body here, where the Gemini API has a whole request below one field. */
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

export const vertexHosting: NonNullable<Upstream['hosting']> = { gemini, messages }

/** A model has one format here. */
export const vertexServes: NonNullable<Upstream['serves']> = (format, model) =>
  format === (isClaude(model) ? 'messages' : hasPublisher(model) ? 'chat' : 'gemini')

/** A service account's key, a user's refresh token, a workload identity: the JSON that Google's tools write. */
export type GoogleCredentials = { readonly [field: string]: unknown }

export interface GoogleAccount {
  readonly keyFile?: string | undefined
  readonly credentials?: GoogleCredentials | undefined
}

/** Fields without which such credentials are of no use, with their environment variables where there are usual ones. */
const secretFields = {
  client_email: 'GOOGLE_CLIENT_EMAIL',
  private_key: 'GOOGLE_PRIVATE_KEY',
  client_id: undefined,
  client_secret: undefined,
  refresh_token: undefined,
} as const

/** Returns the problems of credentials that a configuration holds: fields that are present must have a value. */
export function googleCredentialProblems(credentials: GoogleCredentials | null): string[] {
  if (credentials === null) return []
  if (typeof credentials !== 'object' || Array.isArray(credentials))
    return [`credentials is ${typeName(credentials)}: give the content of a credentials file as an object`]
  return Object.entries(secretFields)
    .filter(([field]) => Object.hasOwn(credentials, field))
    .flatMap(([field, variable]) => secretProblem(`credentials.${field}`, credentials[field], { variable }))
}

const scope = 'https://www.googleapis.com/auth/cloud-platform'

/**
 * The headers of a call on behalf of a Google account; of the application default one, where none is given. The token is
 * kept until shortly before it expires. Rejects with the fix where google-auth-library is not installed, or finds nothing.
 */
export function authorizeWithGoogle(
  account: GoogleAccount,
): () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
  let client: ReturnType<typeof open> | undefined
  return cacheUntilExpiry(async () => {
    client ??= open(account)
    try {
      const opened = await client
      // Beside the token, a user's own credentials say whose quota a call counts against.
      const value = Object.fromEntries(await opened.getRequestHeaders())
      if (value.authorization === undefined)
        throw new Error('google-auth-library gave no access token for the Vertex AI upstream')
      return { value, expiresAt: opened.credentials.expiry_date ?? undefined }
    } catch (cause) {
      // Nothing that failed is kept: credentials may be there with the next call.
      client = undefined
      throw cause
    }
  })
}

async function open({ keyFile, credentials }: GoogleAccount) {
  const GoogleAuth = await library()
  const auth = new GoogleAuth({
    scopes: scope,
    ...(keyFile === undefined ? {} : { keyFilename: keyFile }),
    ...(credentials === undefined ? {} : { credentials }),
  })
  return auth.getClient()
}

async function library() {
  // By name and within a try, so that bundlers take the package in where it is there and do without where it is not.
  try {
    const { GoogleAuth } = await import('#google-auth-library')
    if (GoogleAuth === undefined) throw new Error('This runtime cannot run google-auth-library.')
    return GoogleAuth
  } catch (cause) {
    throw new Error(
      "Vertex AI: google-auth-library is not installed, which finds Google's credentials. Install it (npm install google-auth-library), or give vertex() a token function or an apiKey",
      { cause },
    )
  }
}
