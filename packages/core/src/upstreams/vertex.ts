import { bearerFrom, type TokenSource } from './access-token.ts'
import { cleanBaseURL } from './base-url.ts'
import { commonProblems, createUpstream, typeName } from './check-options.ts'
import { credentials } from './credentials.ts'
import { modelRules as rulesOf } from './model-rules.ts'
import type { ApiKey, Upstream, UpstreamOptions } from './upstream.ts'
import { type GoogleCredentials, googleCredentialProblems, googleHeaders } from './vertex-credentials.ts'
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
    ...credentials(apiKey, (key) => ({ 'x-goog-api-key': key }), headers),
    ...(apiKey === undefined
      ? { authorize: token === undefined ? googleHeaders({ keyFile, credentials: given }) : bearerFrom(token) }
      : {}),
    // The version stands in the body.
    passHeaders: ['anthropic-beta'],
    quirks: { maxTokensField: 'max_tokens', developerRole: 'system' },
    ...rulesOf(modelRules),
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
