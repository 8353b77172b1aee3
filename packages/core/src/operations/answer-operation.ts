import type { Codec } from '../formats/codec.ts'
import type { Reply } from '../inbound.ts'
import type { RequestBody } from '../lanes/wire.ts'
import { isStream } from '../reply.ts'
import type { AnswerCall } from '../send-answer.ts'
import { placesOf } from './model-places.ts'
import type { Form } from './multipart/form.ts'
import { isMultipart, notAnUpload, readForm } from './multipart/read-form.ts'
import type { Dialect, Operation } from './operation.ts'
import { runOperation } from './run.ts'

/** A call whose body has not been read yet. */
type UnreadCall = Omit<AnswerCall, 'jsonArray' | 'request' | 'codec' | 'modelPlaces' | 'form'>

/**
 * An operation beside chat, from its body to its reply. The files of an upload are kept until nobody can need them any more.
 *
 * @param dialectName that of the call's route; throws for one that the operation's clients do not speak
 * @param readJson reads a JSON body and checks it with the function given
 */
export async function answerOperation(
  call: UnreadCall,
  operation: Operation<unknown, unknown>,
  dialectName: string | undefined,
  readJson: (validate: Codec['validateRequest']) => Promise<RequestBody>,
): Promise<Reply> {
  const dialect = clientDialect(operation, dialectName)
  const form = await upload(call, dialect)
  const { validate } = dialect
  if (form === undefined) {
    if (validate === undefined) throw notAnUpload(call.inbound)
    return answer(call, operation, dialect, await readJson((body) => validate(body)))
  }
  const { spool } = form
  const release = (): void => {
    spool.close()
    call.release()
  }
  let streams = false
  try {
    const request = { bytes: nothing, text: '', members: [], value: form.value }
    const reply = await answer({ ...call, release }, operation, dialect, request, form)
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
  const { ledger } = call
  ledger.model = String(value.model ?? dialect.defaultModel)
  ledger.stream = dialect.streams?.(value) ?? (value.stream === true && dialect.tapStream !== undefined)
  const modelPlaces = placesOf(operation.name, dialect.name)
  const context = { ...call, jsonArray: false, operation, dialect, request, modelPlaces }
  return runOperation(form === undefined ? context : { ...context, form })
}
