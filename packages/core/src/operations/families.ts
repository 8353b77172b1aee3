import type { Format } from '../base/names.ts'
import type { Route } from './route.ts'

/** Routes under the path that another vendor's clients use for them. Requests, responses and errors are the same. */
export interface Mount {
  readonly family: string
  /** Replaces `serves` in the paths of the routes. */
  readonly prefix: string
  /** Path of the routes to serve: this one, and those below it. */
  readonly serves: string
  /** Limits the routes to these paths below `serves`, and those below them. `''` is `serves` alone. Default: all. */
  readonly paths?: readonly string[]
  /** Formats of the family's clients, that of model lists first. Routes of other formats are not served. */
  readonly formats: readonly Format[]
  /** Fields that differ from those of the served routes. */
  readonly differs?: Partial<Route>
  /** Fields that differ in routes of one format. */
  readonly differsIn?: { readonly [F in Format]?: Partial<Route> }
}

/** Clients that use the paths of a format's own clients, and are known by their header `user-agent`. */
export interface AgentFamily {
  readonly family: string
  /** Beginnings of the header. */
  readonly agents: readonly string[]
  readonly paths: readonly string[]
  readonly differs: Partial<Route>
}

/** What an OpenAI client calls; Anthropic's and Google's own paths are elsewhere. */
const openai = ['chat', 'responses'] as const

/** Paths of Vertex AI, with a project or in express mode. */
const vertexRoots = (['/v1', '/v1beta1'] as const).map((version) => ({
  express: version,
  project: `${version}/projects/{project}/locations/{location}`,
}))

/** A request that Vertex AI passes to the publisher's own API. The version of Anthropic's API is in the body. */
const rawPredict = (publisher: string, root: string, serves: string, drop?: readonly string[]): readonly Mount[] =>
  [{ action: 'rawPredict' }, { action: 'streamRawPredict', stream: true }].map(({ action, ...streams }) => ({
    family: 'Vertex AI',
    prefix: `${root}/publishers/${publisher}/models/{model}:${action}`,
    serves,
    paths: [''],
    formats: ['chat', 'messages'],
    differs: { rewritesBody: drop === undefined ? {} : { drop }, ...streams },
  }))

const version = ['anthropic_version'] as const

const ownModels = (root: string): Mount => ({
  family: 'Vertex AI',
  prefix: `${root}/models`,
  serves: '/v1beta/models',
  paths: ['/{model}:'],
  formats: ['gemini'],
})

const vertexMounts: readonly Mount[] = vertexRoots.flatMap(({ express, project }): readonly Mount[] => [
  {
    family: 'Vertex AI',
    prefix: `${express}/publishers/google/models`,
    serves: '/v1beta/models',
    formats: ['gemini'],
    differs: { listDialect: 'publisher' },
  },
  ...[express, project].map(
    (root): Mount => ({
      family: 'Vertex AI',
      prefix: `${root}/publishers/{publisher}/models`,
      serves: '/v1beta/models',
      paths: ['/{model}', '/{model}:'],
      formats: ['gemini'],
      differs: {
        modelName: '{publisher}/{model}',
        listDialect: 'publisher',
        ...(root === project ? { queryKey: false } : {}),
      },
    }),
  ),
  {
    family: 'Vertex AI',
    prefix: `${project}/publishers/google/models`,
    serves: '/v1beta/models',
    paths: ['/{model}:'],
    formats: ['gemini'],
    // Clients with a project have an access token, not a key.
    differs: { queryKey: false },
  },
  // The SDK keeps a name like `models/x`.
  ...(express === '/v1beta1' ? [ownModels(express)] : []),
  { ...ownModels(project), differs: { queryKey: false } },
  ...rawPredict('anthropic', project, '/v1/messages', version),
  {
    family: 'Vertex AI',
    prefix: `${project}/publishers/anthropic/models/count-tokens:rawPredict`,
    serves: '/v1/messages/count_tokens',
    paths: [''],
    formats: ['messages'],
    differs: { rewritesBody: { drop: version } },
  },
  ...rawPredict('mistralai', project, '/v1/chat/completions'),
  ...rawPredict('meta', project, '/v1/chat/completions'),
  {
    family: 'Vertex AI',
    prefix: `${project}/endpoints/openapi`,
    serves: '/v1',
    paths: ['/chat/completions', '/embeddings'],
    formats: ['chat'],
  },
])

/** Paths that a vendor's client knows, with the reason why the gateway does not offer them. */
function notOffered(
  family: string,
  method: Route['method'],
  fields: Partial<Route>,
  paths: readonly (readonly [path: string, reason: string])[],
): readonly Route[] {
  return paths.map(([path, reason]) => ({
    method,
    path,
    family,
    operation: 'not-offered',
    format: 'chat',
    notOffered: reason,
    ...fields,
  }))
}

/** Paths of vendors' clients that stand for no other one. */
export const vendorRoutes: readonly Route[] = [
  ...['/models/info', '/info'].map(
    (path): Route => ({
      method: 'GET',
      path,
      family: 'Azure AI inference',
      operation: 'model-info',
      format: 'chat',
      hostMayOwn: true,
    }),
  ),
  // Its client opens a connection when it is created.
  { method: 'GET', path: '/v1/tcp_warming', family: 'Cerebras', operation: 'ping', format: 'chat' },
  { method: 'POST', path: '/v2/chat', family: 'Cohere', operation: 'generate', format: 'chat', adaptation: 'cohere' },
  {
    method: 'POST',
    path: '/v2/embed',
    family: 'Cohere',
    operation: 'embeddings',
    format: 'chat',
    dialect: 'cohere',
    adaptation: 'cohere',
  },
  ...['/api/v1/credits', '/v1/credits'].map(
    (path): Route => ({
      method: 'GET',
      path,
      family: 'OpenRouter',
      operation: 'get-credits',
      format: 'chat',
      adaptation: 'openrouter',
      hostMayOwn: true,
    }),
  ),
  ...['/api/v1/generation', '/v1/generation'].map(
    (path): Route => ({
      method: 'GET',
      path,
      family: 'OpenRouter',
      operation: 'get-generation',
      format: 'chat',
      adaptation: 'openrouter',
      hostMayOwn: true,
    }),
  ),
  ...notOffered('OpenRouter', 'GET', { adaptation: 'openrouter', hostMayOwn: true }, [
    ['/api/v1/key', 'The gateway describes no tokens. Its operator can tell you the limits of your token.'],
  ]),
  ...notOffered('Mistral', 'POST', {}, [
    ['/v1/fim/completions', 'The gateway does not complete the middle of code. Use /v1/chat/completions.'],
    ['/v1/ocr', 'The gateway does not offer OCR. Send the document to a chat model.'],
  ]),
]

/** Clients of shared paths, by their header. */
export const agentFamilies: readonly AgentFamily[] = [
  {
    family: 'Mistral',
    // Python and TypeScript.
    agents: ['mistral-client-'],
    paths: ['/v1/chat/completions', '/v1/embeddings', '/v1/models', '/v1/models/{model}'],
    differs: { adaptation: 'mistral', listDialect: 'mistral' },
  },
  {
    family: 'Cohere',
    // TypeScript, Python.
    agents: ['cohere-ai/', 'cohere/'],
    paths: ['/v1/models', '/v1/models/{model}'],
    differs: { adaptation: 'cohere', listDialect: 'cohere' },
  },
]

/** Paths of vendors' clients, beyond those of the four formats. Each row adds routes to the table. */
export const mounts: readonly Mount[] = [
  { family: 'Azure OpenAI', prefix: '/openai/v1', serves: '/v1', formats: openai },
  {
    family: 'Azure OpenAI',
    prefix: '/openai',
    serves: '/v1',
    paths: ['/responses', '/models', '/files'],
    formats: openai,
  },
  {
    family: 'Azure OpenAI',
    prefix: '/openai/realtime',
    serves: '/v1/realtime',
    paths: [''],
    formats: ['chat'],
    // The query states the API version of the client.
    differs: { sessionQuery: { model: 'deployment', ignored: ['api-version'] } },
  },
  {
    family: 'Azure OpenAI',
    prefix: '/openai/deployments/{model}',
    serves: '/v1',
    paths: [
      '/chat/completions',
      '/completions',
      '/embeddings',
      '/images/generations',
      '/images/edits',
      '/audio/transcriptions',
      '/audio/translations',
      '/audio/speech',
    ],
    formats: ['chat'],
    // The path names the model, in place of the body or in addition to it.
    differs: { rewritesBody: {} },
  },
  {
    family: 'Azure OpenAI',
    prefix: '/openai/deployments/{model}/realtime',
    serves: '/v1/realtime',
    paths: [''],
    formats: ['chat'],
    differs: { sessionQuery: { ignored: ['api-version', 'deployment'] } },
  },
  {
    family: 'Azure AI inference',
    prefix: '/models',
    serves: '/v1',
    paths: ['/chat/completions', '/embeddings'],
    formats: ['chat'],
  },
  { family: 'Google, OpenAI-compatible', prefix: '/v1beta/openai', serves: '/v1', formats: openai },
  { family: 'Anthropic on Azure', prefix: '/anthropic/v1', serves: '/v1', formats: ['messages'] },
  {
    family: 'OpenRouter',
    prefix: '/api/v1',
    serves: '/v1',
    formats: ['chat', 'responses', 'messages'],
    // Many apps have their own API there.
    differs: { hostMayOwn: true, listDialect: 'openrouter', recordsGenerations: true },
    differsIn: { chat: { adaptation: 'openrouter' } },
  },
  ...vertexMounts,
]

/** Returns the routes of the mounts: copies of rows of a table, with other paths. */
export const mountedRoutes = (table: readonly Route[], all: readonly Mount[] = mounts): readonly Route[] =>
  all.flatMap((mount) => table.flatMap((route) => mounted(route, mount)))

function mounted(
  route: Route,
  { family, prefix, serves, paths, formats, differs, differsIn }: Mount,
): readonly Route[] {
  const rest = route.path.startsWith(serves) ? route.path.slice(serves.length) : undefined
  if (rest === undefined || !isBelow(rest, '')) return []
  if (paths !== undefined && !paths.some((path) => (path === '' ? rest === '' : isBelow(rest, path)))) return []
  const headers = Object.entries(route.formatByHeader ?? {}).filter(([, format]) => formats.includes(format))
  const format = [route.format, ...headers.map(([, one]) => one)].find((one) => formats.includes(one))
  if (format === undefined) return []
  const { unversionedAlias: _alias, formatByHeader: _formats, requires: _required, ...fields } = route
  return [
    {
      ...fields,
      family,
      path: prefix + rest,
      format,
      ...(headers.length === 0 ? {} : { formatByHeader: Object.fromEntries(headers) }),
      ...differs,
      ...differsIn?.[format],
    },
  ]
}

/** Returns routes with those of the families whose clients their header distinguishes. */
export const withAgents = (
  table: readonly Route[],
  families: readonly AgentFamily[] = agentFamilies,
): readonly Route[] =>
  table.map((route) => {
    const byAgent = families
      .filter(({ paths }) => paths.includes(route.path))
      .flatMap(({ family, agents, differs }) => {
        const own: Route = { ...route, family, ...differs }
        return agents.map((agent) => [agent, own] as const)
      })
    return byAgent.length === 0 ? route : { ...route, byAgent }
  })

/** Returns whether a path is another one, or below it. A path that ends with a colon has all actions below it. */
const isBelow = (path: string, other: string): boolean =>
  path === other || (path.startsWith(other) && (other.endsWith(':') || path[other.length] === '/'))
