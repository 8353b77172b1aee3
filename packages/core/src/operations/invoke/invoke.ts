import { lazy } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { spliceJson } from '../../base/json/edit.ts'
import { isObject, type Json, type JsonObject, scanJson } from '../../base/json/json.ts'
import type { Codec } from '../../formats/codec.ts'
import { loadCodec } from '../../formats/codec-registry.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Inbound } from '../../http/inbound.ts'
import { handleGenerate } from '../generate.ts'
import type { Handler, Route, RoutedCall } from '../route.ts'
import { type BodyKind, bodyKindOf } from './body-kinds.ts'
import { withExceptions } from './exceptions.ts'
import { hostedMessages } from './messages-codec.ts'

/**
 * Handles InvokeModel and its streams: the body is in the format of the model's vendor, and decides which operation the call is. Errors are
 * AWS's.
 */
export const handleInvoke: Handler = async (call) => {
  checkHeaders(call.inbound)
  const body = await call.readBody(anyObject)
  const kind = bodyKindOf(body.value)
  const { operation, format, dialect } = kind
  const route: Route = { ...call.route, operation, format, ...(dialect === undefined ? {} : { dialect }) }
  call.record.operation = operation
  if (operation === 'embeddings') {
    if (route.stream === true)
      throw new GatewayError('invalid_request', 'Embeddings cannot be streamed: use /invoke.', { param: 'stream' })
    const { handleModelOperation } = await import('../model-operations.ts')
    return await handleModelOperation(callFor(call, route, body))
  }
  const { codec, request } = await generations[kind.format as 'chat' | 'messages'](body)
  return await handleGenerate({ ...callFor(call, route, request), codec })
}

const anyObject = (body: Json): JsonObject => {
  if (!isObject(body))
    throw new GatewayError('invalid_request', 'Malformed input request: the body is not a JSON object.')
  return body
}

/** Returns the call as the handler of the body's operation gets it. */
const callFor = (call: RoutedCall, route: Route, request: RequestBody): RoutedCall => ({
  ...call,
  route,
  readBody: async (validate) => {
    const check = await validate
    check(request.value)
    return request
  },
})

interface Generation {
  readonly codec: Codec
  readonly request: RequestBody
}

const messagesCodec = lazy(async () => hostedMessages(withExceptions(await loadCodec('messages'))))
const chatCodec = lazy(async () => withExceptions(await loadCodec('chat')))

/** The codec of each format of generation, and the body that it reads. */
const generations: {
  readonly [F in Exclude<BodyKind['format'], 'converse'>]: (body: RequestBody) => Promise<Generation>
} = {
  messages: async (request) => ({ codec: await messagesCodec(), request }),
  chat: async (body) => ({ codec: await chatCodec(), request: withPathFields(body) }),
}

/** Puts model and stream flag, which the path states, into the text of a body whose upstreams have both there. */
function withPathFields({ text, members, value }: RequestBody): RequestBody {
  const { model = null, stream } = value
  const changed = spliceJson(text, members, { model, ...(stream === true ? { stream } : {}) })
  return {
    bytes: new TextEncoder().encode(changed),
    text: changed,
    members: scanJson(changed, Number.POSITIVE_INFINITY).members,
    value,
    fields: value,
  }
}

/**
 * Rejects a guardrail in headers: without it, the model would respond unchecked. The other headers of InvokeModel change neither request nor
 * response.
 *
 * @throws GatewayError `invalid_request`
 */
function checkHeaders(inbound: Inbound): void {
  const name = 'x-amzn-bedrock-guardrailidentifier'
  if (inbound.header(name) === undefined) return
  throw new GatewayError(
    'invalid_request',
    'The gateway applies no guardrail to InvokeModel. Use Converse with guardrailConfig, or leave out the guardrail.',
    { param: name },
  )
}
