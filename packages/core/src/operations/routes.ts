import { mountedRoutes, vendorRoutes, withAgents } from './families.ts'
import { ollamaRoutes } from './ollama-routes.ts'
import type { Route } from './route.ts'

/** Three providers share one path for their model lists; their own headers distinguish their clients. */
const listDialects = {
  'anthropic-version': 'messages',
  'vendor-version': 'messages',
  'x-goog-api-key': 'gemini',
} as const
const dated = { names: ['anthropic-version', 'vendor-version'], shape: 'date' } as const

/** Two providers share the path of files. */
const fileDialects = { 'anthropic-version': 'messages', 'vendor-version': 'messages' } as const

/** Google's newer clients use the same paths. */
const ownFileDialects = { ...fileDialects, 'x-goog-api-key': 'gemini' } as const

const storedFile = [
  ['POST', '', 'create-object'],
  ['GET', '', 'list-objects'],
  ['GET', '/{id}', 'get-object'],
  ['DELETE', '/{id}', 'delete-object'],
  ['GET', '/{id}/content', 'get-object-content'],
] as const

const conversation = [
  ['POST', '', 'create-object'],
  ['GET', '/{id}', 'get-object'],
  ['POST', '/{id}', 'update-object'],
  ['DELETE', '/{id}', 'delete-object'],
  ['GET', '/{id}/items', 'get-object'],
  ['POST', '/{id}/items', 'update-object'],
  ['GET', '/{id}/items/{item}', 'get-object'],
  ['DELETE', '/{id}/items/{item}', 'update-object'],
] as const

/** The actions of a model that the path names. */
const modelActions = (prefix: string): readonly Route[] =>
  (
    [
      { path: `${prefix}/{model}:generateContent`, operation: 'generate' },
      {
        path: `${prefix}/{model}:streamGenerateContent`,
        operation: 'generate',
        stream: true,
        framing: 'json-array',
        eventsIf: { name: 'alt', value: 'sse' },
      },
      { path: `${prefix}/{model}:countTokens`, operation: 'count-tokens' },
      { path: `${prefix}/{model}:embedContent`, operation: 'embeddings', dialect: 'gemini' },
      { path: `${prefix}/{model}:batchEmbedContents`, operation: 'embeddings', dialect: 'gemini-batch' },
      {
        path: `${prefix}/{model}:predict`,
        operation: 'images',
        dialect: 'imagen',
        byInstance: { members: ['content', 'text', 'image', 'video'], operation: 'embeddings', dialect: 'vertex' },
      },
    ] as const
  ).map((route) => ({ method: 'POST', format: 'gemini', queryKey: true, ...route }))

/** Short-lived secrets of the provider, for browsers. */
const realtimeSecrets: readonly Route[] = (
  [
    ['client_secrets', 'client-secrets'],
    ['sessions', 'sessions'],
    ['transcription_sessions', 'transcription-sessions'],
    ['translations/client_secrets', 'translation-secrets'],
  ] as const
).map(([path, dialect]) => ({
  method: 'POST',
  path: `/v1/realtime/${path}`,
  operation: 'realtime-sessions',
  format: 'chat',
  dialect,
  unversionedAlias: true,
}))

/** Calls over WebRTC, and phone calls. */
const realtimeCalls: readonly Route[] = (
  [
    { path: '', operation: 'create-call', unversionedAlias: true },
    { path: '/{id}/accept', operation: 'accept-call' },
    { path: '/{id}/hangup', operation: 'control-call' },
    { path: '/{id}/refer', operation: 'control-call' },
    { path: '/{id}/reject', operation: 'control-call' },
  ] as const
).map(({ path, ...route }) => ({
  method: 'POST',
  path: `/v1/realtime/calls${path}`,
  format: 'chat',
  object: 'calls',
  ...route,
}))

/** The actions of a model of Bedrock, and its model list. */
const bedrock: readonly Route[] = (
  [
    { method: 'POST', path: '/model/{model}/converse', operation: 'generate' },
    {
      method: 'POST',
      path: '/model/{model}/converse-stream',
      operation: 'generate',
      stream: true,
      framing: 'named-frames',
    },
    { method: 'POST', path: '/model/{model}/count-tokens', operation: 'count-tokens' },
    { method: 'POST', path: '/model/{model}/invoke', operation: 'invoke', ignoresContentType: true },
    {
      method: 'POST',
      path: '/model/{model}/invoke-with-response-stream',
      operation: 'invoke',
      ignoresContentType: true,
      stream: true,
      framing: 'chunk-frames',
    },
    { method: 'GET', path: '/foundation-models', operation: 'list-models' },
    { method: 'GET', path: '/foundation-models/{model}', operation: 'get-model' },
  ] as const
).map((route) => ({ format: 'converse', ...route }))

/** Responses that were kept, by their id. */
const storedResponses: readonly Route[] = (
  [
    { method: 'GET', path: '/v1/responses/{id}', operation: 'get-response' },
    { method: 'DELETE', path: '/v1/responses/{id}', operation: 'delete-response' },
    { method: 'GET', path: '/v1/responses/{id}/input_items', operation: 'list-input-items' },
    { method: 'POST', path: '/v1/responses/{id}/cancel', operation: 'cancel-response' },
  ] as const
).map((route) => ({ format: 'responses', ...route }))

/** Objects that an upstream stores for their owner: paths below that of their kind. */
const objectPaths = {
  files: { format: 'chat', path: '/v1/files', formatByHeader: fileDialects, rows: storedFile },
  conversations: { format: 'responses', path: '/v1/conversations', rows: conversation },
} as const

/** Google's files. Only resumable uploads create them. */
const googleFiles: readonly Route[] = (
  [
    { method: 'POST', path: '/upload/v1beta/files', operation: 'create-object' },
    // Newer SDKs use /v1.
    { method: 'POST', path: '/upload/v1/files', operation: 'create-object' },
    { method: 'GET', path: '/v1beta/files', operation: 'list-objects' },
    { method: 'GET', path: '/v1beta/files/{id}', operation: 'get-object' },
    { method: 'DELETE', path: '/v1beta/files/{id}', operation: 'delete-object' },
  ] as const
).map((route) => ({ format: 'gemini', queryKey: true, object: 'files', ...route }))

/** Google's cached contents. Newer SDKs use /v1. */
const cachedContents: readonly Route[] = ['/v1beta/cachedContents', '/v1/cachedContents'].flatMap((path) =>
  (
    [
      { method: 'POST', path, operation: 'create-cache' },
      { method: 'GET', path, operation: 'list-objects' },
      { method: 'GET', path: `${path}/{id}`, operation: 'get-object' },
      { method: 'PATCH', path: `${path}/{id}`, operation: 'update-object' },
      { method: 'DELETE', path: `${path}/{id}`, operation: 'delete-object' },
    ] as const
  ).map((route) => ({ format: 'gemini', queryKey: true, object: 'caches', ...route }) as const),
)

/** OpenAI's batches. */
const fileBatches: readonly Route[] = (
  [
    { method: 'POST', path: '', operation: 'create-object' },
    { method: 'GET', path: '', operation: 'list-objects' },
    { method: 'GET', path: '/{id}', operation: 'get-object' },
    { method: 'POST', path: '/{id}/cancel', operation: 'cancel-object' },
  ] as const
).map(({ path, ...route }) => ({ format: 'chat', object: 'batches', path: `/v1/batches${path}`, ...route }))

/** Anthropic's batches of messages. */
const messageBatches: readonly Route[] = (
  [
    { method: 'POST', path: '', operation: 'create-object', requires: dated },
    { method: 'GET', path: '', operation: 'list-objects' },
    { method: 'GET', path: '/{id}', operation: 'get-object' },
    { method: 'DELETE', path: '/{id}', operation: 'delete-object' },
    { method: 'POST', path: '/{id}/cancel', operation: 'cancel-object' },
    { method: 'GET', path: '/{id}/results', operation: 'get-object-content' },
  ] as const
).map(({ path, ...route }) => ({
  format: 'messages',
  object: 'batches',
  path: `/v1/messages/batches${path}`,
  ...route,
}))

/** Anthropic's skills, with their versions. */
const skills: readonly Route[] = (
  [
    { method: 'POST', path: '', operation: 'create-object' },
    { method: 'GET', path: '', operation: 'list-objects' },
    { method: 'GET', path: '/{id}', operation: 'get-object' },
    { method: 'DELETE', path: '/{id}', operation: 'delete-object' },
    { method: 'POST', path: '/{id}/versions', operation: 'update-object' },
    { method: 'GET', path: '/{id}/versions', operation: 'get-object' },
    { method: 'GET', path: '/{id}/versions/{item}', operation: 'get-object' },
    { method: 'DELETE', path: '/{id}/versions/{item}', operation: 'update-object' },
    { method: 'GET', path: '/{id}/versions/{item}/content', operation: 'get-object-content' },
  ] as const
).map(({ path, ...route }) => ({ format: 'messages', object: 'skills', path: `/v1/skills${path}`, ...route }))

const sharesFilePath = (operation: Route['operation']): boolean =>
  operation === 'list-objects' || operation === 'get-object' || operation === 'delete-object'

const objectRoutes: readonly Route[] = (['files', 'conversations'] as const).flatMap((object) => {
  const { path, rows, ...fields } = objectPaths[object]
  return rows.map(
    ([method, rest, operation]): Route => ({
      method,
      path: path + rest,
      operation,
      object,
      ...fields,
      ...(object === 'files' && sharesFilePath(operation) ? { formatByHeader: ownFileDialects } : {}),
    }),
  )
})

/** Images and sound. */
const media: readonly Route[] = (
  [
    { path: '/v1/images/generations', operation: 'images' },
    { path: '/v1/images/edits', operation: 'image-edits' },
    { path: '/v1/images/variations', operation: 'image-variations' },
    { path: '/v1/audio/transcriptions', operation: 'transcriptions' },
    { path: '/v1/audio/translations', operation: 'translations' },
    { path: '/v1/audio/speech', operation: 'speech' },
  ] as const
).map((route) => ({ method: 'POST', format: 'chat', dialect: 'openai', unversionedAlias: true, ...route }))

/** The paths of the formats' own clients (SPECIFICATION, Endpoints). Other vendors' paths for the same operations: families.ts. */
const ownRoutes: readonly Route[] = [
  { method: 'POST', path: '/v1/chat/completions', operation: 'generate', format: 'chat', unversionedAlias: true },
  {
    method: 'POST',
    path: '/v1/messages',
    operation: 'generate',
    format: 'messages',
    unversionedAlias: true,
    requires: dated,
  },
  {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    operation: 'count-tokens',
    format: 'messages',
    unversionedAlias: true,
    requires: dated,
  },
  {
    method: 'POST',
    path: '/v1/responses',
    operation: 'generate',
    format: 'responses',
    unversionedAlias: true,
    usesStoredResponses: true,
    upgrade: 'responses',
  },
  {
    method: 'POST',
    path: '/v1/responses/input_tokens',
    operation: 'count-tokens',
    format: 'responses',
    unversionedAlias: true,
    usesStoredResponses: true,
  },
  {
    method: 'POST',
    path: '/v1/responses/compact',
    operation: 'compact',
    format: 'responses',
    unversionedAlias: true,
    usesStoredResponses: true,
  },
  ...storedResponses,
  ...modelActions('/v1beta/models'),
  // Newer SDKs use /v1.
  ...modelActions('/v1/models'),
  {
    method: 'POST',
    path: '/v1/completions',
    operation: 'completions',
    format: 'chat',
    dialect: 'openai',
    unversionedAlias: true,
  },
  {
    method: 'POST',
    path: '/v1/embeddings',
    operation: 'embeddings',
    format: 'chat',
    dialect: 'openai',
    unversionedAlias: true,
  },
  { method: 'POST', path: '/v1/rerank', operation: 'rerank', format: 'chat', dialect: 'jina', unversionedAlias: true },
  { method: 'POST', path: '/v2/rerank', operation: 'rerank', format: 'chat', dialect: 'cohere' },
  {
    method: 'POST',
    path: '/v1/moderations',
    operation: 'moderations',
    format: 'chat',
    dialect: 'openai',
    unversionedAlias: true,
  },
  ...objectRoutes,
  ...googleFiles,
  ...cachedContents,
  ...fileBatches,
  ...messageBatches,
  ...skills,
  ...media,
  ...realtimeSecrets,
  ...realtimeCalls,
  {
    method: 'GET',
    path: '/v1/realtime',
    operation: 'realtime',
    format: 'chat',
    protocolKey: true,
    upgrade: 'realtime',
  },
  {
    method: 'GET',
    path: '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    operation: 'realtime',
    format: 'gemini',
    queryKey: true,
    upgrade: 'realtime',
    sessionKind: 'live',
  },
  { method: 'GET', path: '/v1/models', operation: 'list-models', format: 'chat', formatByHeader: listDialects },
  { method: 'GET', path: '/v1/models/{model}', operation: 'get-model', format: 'chat', formatByHeader: listDialects },
  { method: 'GET', path: '/v1beta/models', operation: 'list-models', format: 'gemini', queryKey: true },
  { method: 'GET', path: '/v1beta/models/{model}', operation: 'get-model', format: 'gemini', queryKey: true },
  ...bedrock,
]

/** Every path of the gateway. */
export const routes: readonly Route[] = [
  ...withAgents(ownRoutes),
  ...ollamaRoutes,
  ...mountedRoutes(ownRoutes),
  ...vendorRoutes,
]
