import type { Route } from './route.ts'

/** The version of Ollama whose API the gateway follows. Clients compare it with the one that they need. */
const version = '0.32.15'

/** Creates a route. Many apps have their own API below `/api`. */
const route = (method: Route['method'], path: string, more: Pick<Route, 'operation'> & Partial<Route>): Route => ({
  method,
  path,
  format: 'ollama',
  hostMayOwn: true,
  ...more,
})

/** Creates a route whose bodies name a model. */
const modelRoute = (path: string, more: Pick<Route, 'operation'> & Partial<Route>): Route =>
  route('POST', path, { modelTag: ':latest', ignoresContentType: true, ...more })

const generate = { operation: 'generate', bodyDefaults: { stream: true }, framing: 'ndjson' } as const

/** Creates a route that manages the models of a server. */
const management = (method: Route['method'], path: string, action: string): Route =>
  route(method, path, {
    operation: 'static-response',
    refusal: `This gateway ${action} no models: its operator configures them. List them with GET /api/tags.`,
  })

/** The paths of Ollama's clients. */
export const ollamaRoutes: readonly Route[] = [
  modelRoute('/api/chat', generate),
  modelRoute('/api/generate', { ...generate, dialect: 'ollama-generate' }),
  modelRoute('/api/embed', { operation: 'embeddings', dialect: 'ollama' }),
  modelRoute('/api/embeddings', { operation: 'embeddings', dialect: 'ollama-embeddings' }),
  modelRoute('/api/show', { operation: 'get-model' }),
  route('GET', '/api/tags', { operation: 'list-models' }),
  // No model is loaded here.
  route('GET', '/api/ps', { operation: 'static-response', response: { models: [] } }),
  route('GET', '/api/version', { operation: 'static-response', response: { version } }),
  management('POST', '/api/pull', 'pulls'),
  management('POST', '/api/push', 'pushes'),
  management('POST', '/api/create', 'creates'),
  management('POST', '/api/copy', 'copies'),
  management('DELETE', '/api/delete', 'deletes'),
]
