import { bearerFrom, type TokenSource } from './access-token.ts'
import { cleanBaseURL } from './base-url.ts'
import { checkApiKey, credentials } from './credentials.ts'
import { modelRules as rulesOf } from './model-rules.ts'
import type { ApiKey, Upstream, UpstreamOptions } from './upstream.ts'
import { type GoogleCredentials, googleHeaders } from './vertex-credentials.ts'
import { vertexHosting, vertexServes } from './vertex-hosting.ts'

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
 * credentials; it is an optional peer, to be installed. Throws a TypeError for options that contradict each other.
 */
export function vertex(options: VertexOptions): Upstream {
  checkApiKey(options, 'vertex')
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
  const ways = Object.entries({ apiKey, token, keyFile, credentials: given }).filter(([, way]) => way !== undefined)
  if (ways.length > 1)
    throw new TypeError(
      `vertex: give one of ${ways.map(([name]) => name).join(' and ')}: a call carries one credential`,
    )
  if (project === undefined && apiKey === undefined)
    throw new TypeError(
      'vertex: give project, the id of the Google Cloud project (only express mode, by apiKey, has none)',
    )
  for (const [name, value] of Object.entries({ project, location }))
    if (value !== undefined && !isName(value)) throw new TypeError(`vertex: ${name} '${value}' is not a ${name}'s name`)
  const express = project === undefined
  const root = express ? `/${apiVersion}` : `/${apiVersion}/projects/${project}/locations/${location}`
  const google = `${root}/publishers/google/models`
  const claude = `${root}/publishers/anthropic/models`
  return {
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
    ...credentials(apiKey, (key) => ({ 'x-goog-api-key': key }), headers),
    ...(apiKey === undefined
      ? { authorize: token === undefined ? googleHeaders({ keyFile, credentials: given }) : bearerFrom(token) }
      : {}),
    // The version stands in the body.
    passHeaders: ['anthropic-beta'],
    quirks: { maxTokensField: 'max_tokens', developerRole: 'system' },
    ...rulesOf(modelRules),
  }
}

/** Locations that span regions have hosts of another shape. */
const wide: ReadonlySet<string> = new Set(['us', 'eu'])

function hostOf(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  return wide.has(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`
}
