import { lazy } from '../base/async.ts'
import type { Operation, OperationName } from '../base/names.ts'
import { handleGenerate } from './handle-generate.ts'
import type { Handler } from './handler.ts'

const modelOperation = lazy(() => import('./answer-operation.ts').then((found) => found.handleModelOperation))
const storedResponse = lazy(() => import('./stored-responses.ts').then((found) => found.handleStoredResponse))

type OtherOperation = Exclude<Operation, OperationName>

/** The handlers of operations that are not in `modelOperations`. Only generation is part of the entry; the first call of another one loads its handler. */
const handlers: { readonly [O in OtherOperation]: () => Handler | Promise<Handler> } = {
  generate: () => handleGenerate,
  'count-tokens': lazy(() => import('./count-tokens.ts').then((found) => found.handleCountTokens)),
  'list-models': lazy(() => import('./models.ts').then((found) => found.handleListModels)),
  'get-model': lazy(() => import('./models.ts').then((found) => found.handleGetModel)),
  'get-response': storedResponse,
  'delete-response': storedResponse,
  'list-input-items': storedResponse,
  'cancel-response': storedResponse,
  // A plain request: upgrades do not come here (see `Gateway.realtime`).
  realtime: lazy(() => import('./realtime/handshake.ts').then((found) => found.handleWithoutUpgrade)),
  plugin: lazy(() => import('./plugin-reply.ts').then((found) => found.handlePluginRoute)),
}

const isOther = (operation: Operation): operation is OtherOperation => Object.hasOwn(handlers, operation)

/** The handler of an operation: a promise until it is loaded. */
export const handlerOf = (operation: Operation): Handler | Promise<Handler> =>
  isOther(operation) ? handlers[operation]() : modelOperation()
