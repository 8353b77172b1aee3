import { lazy } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { Operation, OperationName } from '../base/names.ts'
import { jsonReply } from '../calls/reply.ts'
import { handleGenerate } from './generate.ts'
import type { Handler, Route } from './route.ts'

const modelOperation = lazy(() => import('./model-operations.ts').then((found) => found.handleModelOperation))
const storedObject = lazy(() => import('./objects/handle.ts').then((found) => found.handleObject))
const storedResponse = lazy(() => import('./stored-responses.ts').then((found) => found.handleStoredResponse))

const handleNotOffered: Handler = async ({ route }) => {
  throw new GatewayError('not_implemented', `${route.path}: ${route.notOffered ?? 'The gateway does not offer it.'}`)
}

/** Chat generation on paths of clients that read the records of their calls later. */
const recordedGenerate = lazy(() =>
  import('./generations/record-generation.ts').then((found) => found.handleRecordedGenerate),
)

const handlePing: Handler = async ({ record }) => jsonReply(record, {})

type OtherOperation = Exclude<Operation, OperationName | 'batch'>

/** The handlers of operations that are not in `modelOperations`. Only generation is part of the entry; the first call of another one loads its handler. */
const handlers: { readonly [O in OtherOperation]: () => Handler | Promise<Handler> } = {
  generate: () => handleGenerate,
  'count-tokens': lazy(() => import('./count-tokens.ts').then((found) => found.handleCountTokens)),
  compact: lazy(() => import('./responses/compaction/compact.ts').then((found) => found.handleCompact)),
  'list-models': lazy(() => import('./models.ts').then((found) => found.handleListModels)),
  'get-model': lazy(() => import('./models.ts').then((found) => found.handleGetModel)),
  'model-info': lazy(() => import('./models.ts').then((found) => found.handleModelInfo)),
  'get-credits': lazy(() => import('./credits.ts').then((found) => found.handleGetCredits)),
  'get-generation': lazy(() => import('./generations/get-generation.ts').then((found) => found.handleGetGeneration)),
  ping: () => handlePing,
  'not-offered': () => handleNotOffered,
  'get-response': storedResponse,
  'delete-response': storedResponse,
  'list-input-items': storedResponse,
  'cancel-response': storedResponse,
  'create-object': storedObject,
  'create-cache': storedObject,
  'list-objects': storedObject,
  'get-object': storedObject,
  'update-object': storedObject,
  'cancel-object': storedObject,
  'delete-object': storedObject,
  'get-object-content': storedObject,
  'create-call': lazy(() => import('./realtime/calls/create-call.ts').then((found) => found.handleCreateCall)),
  'accept-call': lazy(() => import('./realtime/calls/control-call.ts').then((found) => found.handleAcceptCall)),
  'control-call': lazy(() => import('./realtime/calls/control-call.ts').then((found) => found.handleControlCall)),
  invoke: lazy(() => import('./invoke/invoke.ts').then((found) => found.handleInvoke)),
  // A plain request: upgrades do not come here (see `Gateway.realtime`).
  realtime: lazy(() => import('./realtime/handshake.ts').then((found) => found.handleWithoutUpgrade)),
  'static-response': lazy(() => import('./static-response.ts').then((found) => found.handleStaticResponse)),
  plugin: lazy(() => import('./plugin-route.ts').then((found) => found.handlePluginRoute)),
}

const isOther = (operation: Operation): operation is OtherOperation => Object.hasOwn(handlers, operation)

/** The handler of a route: a promise until it is loaded. */
export function handlerOf({ operation, recordsGenerations }: Route): Handler | Promise<Handler> {
  if (recordsGenerations === true && operation === 'generate') return recordedGenerate()
  return isOther(operation) ? handlers[operation]() : modelOperation()
}
