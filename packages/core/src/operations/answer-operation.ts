import { GatewayError } from '../base/errors.ts'
import type { OperationName } from '../base/names.ts'
import { isStream } from '../calls/reply.ts'
import type { AnswerCall } from '../calls/send-response.ts'
import type { Codec } from '../formats/codec.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Reply } from '../http/inbound.ts'
import { asksToExplain } from './explain-over-http.ts'
import type { Handler } from './handler.ts'
import { modelOperations } from './model-operations.ts'
import { placesOf } from './model-places.ts'
import type { Form } from './multipart/form.ts'
import { isMultipart, readForm, uploadRequired } from './multipart/read-form.ts'
import type { Dialect, Operation } from './operation.ts'
import { referenceSchemeOf } from './references/notice.ts'
import { anyBody, checkEarly, routeFor } from './route-by-body.ts'
import { type OperationCall, runOperation } from './run.ts'

/** A call whose body has not been read yet. */
type UnreadCall = Omit<AnswerCall, 'jsonArray' | 'request' | 'codec' | 'modelPlaces' | 'form'>

/** The handler of every operation in `modelOperations`. */
export const handleModelOperation: Handler = async (call) => {
  const { setup, shared, route, inbound, record, transport, signal, end } = call
  // A request for an explanation must not become a call that is billed.
  if (asksToExplain(inbound))
    throw new GatewayError('invalid_request', 'modelgate=explain: only chat generation can be explained.')
  const early = route.byInstance === undefined ? undefined : await call.readBody(anyBody)
  const asked = early === undefined ? route : routeFor(route, early.value)
  record.operation = asked.operation
  // `handlers` maps no other operation to this handler.
  const loading = modelOperations[asked.operation as OperationName]()
  const operation = loading instanceof Promise ? await loading : loading
  const readJson = (validate: Codec['checkRequest']): Promise<RequestBody> => {
    const reading = early === undefined ? call.readBody(validate) : checkEarly(early, validate)
    if (referenceSchemeOf(asked) === undefined) return reading
    return reading.then(async (request) => {
      await setup.checkReferences(asked, request, record.identity)
      return request
    })
  }
  // Without the codec: a chat codec would read affinity and traits out of bodies that are not chat requests.
  const unread = { shared, inbound, record, transport, signal, end }
  return await answerOperation(unread, operation, asked.dialect, readJson)
}

/**
 * An operation beside chat, from its body to its reply. The files of an upload are kept until nobody can need them any more.
 *
 * @param dialectName that of the call's route; throws for one that the operation's clients do not speak
 * @param readJson reads a JSON body and checks it with the function given
 */
async function answerOperation(
  call: UnreadCall,
  operation: Operation<unknown, unknown>,
  dialectName: string | undefined,
  readJson: (validate: Codec['validateRequest']) => Promise<RequestBody>,
): Promise<Reply> {
  const dialect = clientDialect(operation, dialectName)
  const form = await upload(call, dialect)
  const { validate } = dialect
  if (form === undefined) {
    if (validate === undefined) throw uploadRequired(call.inbound)
    return answer(call, operation, dialect, await readJson((body) => validate(body)))
  }
  const { spool } = form
  const end: UnreadCall['end'] = (ending) => {
    spool.close()
    call.end(ending)
  }
  let streams = false
  try {
    const request = { bytes: nothing, text: '', members: [], value: form.value }
    const reply = await answer({ ...call, end }, operation, dialect, request, form)
    streams = isStream(reply)
    return reply
  } finally {
    if (!streams) spool.close()
  }
}

const nothing = new Uint8Array(0)

/** A dialect that clients speak. */
function clientDialect({ name, dialects }: Operation<unknown, unknown>, wanted: string | undefined) {
  const dialect = dialects.find((one) => one.name === wanted)
  if (dialect === undefined || (dialect.validate ?? dialect.form) === undefined)
    throw new TypeError(`No operation '${name}' in the dialect '${wanted}'`)
  return dialect
}

function upload({ inbound, shared }: UnreadCall, { form }: Dialect<unknown, unknown>) {
  return form !== undefined && isMultipart(inbound) ? readForm(inbound, form, shared) : undefined
}

function answer(
  call: UnreadCall,
  operation: Operation<unknown, unknown>,
  dialect: Dialect<unknown, unknown>,
  request: RequestBody,
  form?: Form,
): Promise<Reply> {
  const { value } = request
  const { shared, inbound, record, transport, signal, end } = call
  record.model = String(value.model ?? dialect.defaultModel)
  record.stream = dialect.streams?.(value) ?? (value.stream === true && dialect.tapStream !== undefined)
  const modelPlaces = placesOf(operation.name, dialect.name)
  // Field by field: a spread followed by six more fields took 5 µs.
  const context: OperationCall = {
    shared,
    inbound,
    record,
    transport,
    signal,
    end,
    jsonArray: false,
    operation,
    dialect,
    request,
    modelPlaces,
  }
  return runOperation(form === undefined ? context : { ...context, form })
}
