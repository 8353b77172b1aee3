import { GatewayError } from '../base/errors.ts'
import { isObject } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { OperationName } from '../base/names.ts'
import { isStream, type ReplyCall, toReply } from '../calls/reply.ts'
import { tryTargets } from '../calls/try-targets.ts'
import type { Codec } from '../formats/codec.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Reply } from '../http/inbound.ts'
import { asksToExplain } from './generate.ts'
import { ModelOperationWriter } from './model-operation-writer.ts'
import { modelOperations, placesOf } from './model-operations.ts'
import type { Form } from './multipart/form.ts'
import { isMultipart, readForm, uploadRequired } from './multipart/read-form.ts'
import type { AnyDialect, AnyOperation } from './operation.ts'
import { noticedScheme } from './references/notice.ts'
import type { Handler, Route, RoutedCall } from './route.ts'

/** Handles every operation in `modelOperations`, from the body to the reply. */
export const handleModelOperation: Handler = async (call) => {
  const { route, record } = call
  // A request for an explanation must not become a call that is billed.
  if (asksToExplain(call.inbound))
    throw new GatewayError('invalid_request', 'modelgate=explain: only chat generation can be explained.')
  const early = route.byInstance === undefined ? undefined : await call.readBody(anyBody)
  const actual = early === undefined ? route : routeFor(route, early.value)
  record.operation = actual.operation
  // `handlers` maps no other operation to this handler.
  const loading = modelOperations[actual.operation as OperationName]()
  const operation = loading instanceof Promise ? await loading : loading
  const dialect = clientDialect(operation, actual.dialect)
  const { form, validate } = dialect
  if (form !== undefined && isMultipart(call.inbound))
    return await runUpload(call, operation, dialect, await readForm(call.inbound, form, call.shared))
  if (validate === undefined) throw uploadRequired(call.inbound)
  const check: Codec['checkRequest'] = (body) => validate(body)
  if (early !== undefined) check(early.value)
  const request = early ?? (await call.readBody(check))
  const scheme = noticedScheme(actual, request)
  if (scheme !== undefined) await call.snapshot.checkReferences(scheme, request, record.identity)
  return await run(call, operation, dialect, request)
}

/** A body whose operation is not known yet. The operation's own dialect checks it. */
const anyBody = (body: Json): JsonObject => body as JsonObject

/** Returns the route for a body, where one path serves two operations. */
function routeFor(route: Route, body: Json): Route {
  const { byInstance } = route
  const instances = isObject(body) ? body.instances : undefined
  const first = Array.isArray(instances) ? instances[0] : instances
  if (byInstance === undefined || !isObject(first) || first.prompt !== undefined) return route
  const { members, operation, dialect } = byInstance
  return members.some((member) => Object.hasOwn(first, member)) ? { ...route, operation, dialect } : route
}

function clientDialect({ name, dialects }: AnyOperation, wanted: string | undefined): AnyDialect {
  const dialect = dialects.find((one) => one.name === wanted)
  if (dialect === undefined || (dialect.validate ?? dialect.form) === undefined)
    throw new TypeError(`No operation '${name}' in the dialect '${wanted}'`)
  return dialect
}

const noBytes = new Uint8Array(0)

/** Runs an upload. Its files are kept until the end of the call: retries read them again. */
async function runUpload(call: RoutedCall, operation: AnyOperation, dialect: AnyDialect, form: Form): Promise<Reply> {
  const { spool } = form
  const end: ReplyCall['end'] = (ending) => {
    spool.close()
    call.end(ending)
  }
  let streams = false
  try {
    const request = { bytes: noBytes, text: '', members: [], value: form.value }
    const reply = await run(call, operation, dialect, request, form, end)
    streams = isStream(reply)
    return reply
  } finally {
    if (!streams) spool.close()
  }
}

async function run(
  { shared, inbound, record, transport, signal, end: endCall }: RoutedCall,
  operation: AnyOperation,
  dialect: AnyDialect,
  request: RequestBody,
  form?: Form,
  end = endCall,
): Promise<Reply> {
  const { value } = request
  const model = String(value.model ?? dialect.defaultModel)
  const stream = dialect.streams?.(value) ?? (value.stream === true && dialect.tapStream !== undefined)
  record.model = model
  record.stream = stream
  if (operation.counted !== undefined) record.tokenCounting = operation.counted
  record.expected = dialect.expectedUse?.(value)
  const { limits, references } = shared
  const writer = new ModelOperationWriter({ operation, dialect, request, form, model, stream, limits, references })
  const modelPlaces = placesOf(operation.name, dialect.name)
  // Without the codec: a chat codec would read affinity and traits from bodies that are not chat requests.
  const call = { shared, inbound, request, form, modelPlaces, writer, record, transport, signal, end, jsonArray: false }
  const response = await tryTargets(call)
  const units = dialect.unitsOf?.(value)
  if (units !== undefined) record.units = units
  return await toReply(call, response)
}
