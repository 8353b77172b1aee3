import { isThenable, runSilently, settleWithin } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { type Inbound, isValidHeader, type Reply } from '../http/inbound.ts'
import type { Handler, Route } from './route.ts'

export const handlePluginRoute: Handler = async ({ route, inbound, params, shared }) => {
  if (route.handle === undefined) throw new TypeError(`The plugin route ${route.path} has no handler`)
  return pluginReply(route.handle, inbound, params, shared.limits.firstByteMs)
}

/**
 * Returns the reply of a plugin's endpoint. Rejects with the errors of `handle`, and with an error that names the route if it returns no reply
 * within `ms`.
 */
async function pluginReply(
  handle: NonNullable<Route['handle']>,
  inbound: Inbound,
  params: Readonly<Record<string, string>>,
  ms: number,
): Promise<Reply> {
  const name = `The handler of ${inbound.method} ${inbound.path.slice(0, 200)}`
  const result: unknown = handle(inbound, params)
  if (!isThenable(result)) return checkReply(result, name)
  const { signal } = inbound
  // A handler may do as much work as an upstream: it has the same time limit.
  const wait = { name, ms, fix: 'Respond sooner, or raise limits.firstByteMs.', signal, onLateValue: discardLateReply }
  return checkReply(await settleWithin(result, wait), name)
}

/** Checks a reply. Hosts fail to send anything else, and some of them without a response to the client. */
function checkReply(reply: unknown, name: string): Reply {
  if (typeof reply !== 'object' || reply === null) throw notReply(name, typeNameOf(reply))
  const { status, headers, body } = reply as { readonly [field in keyof Reply]?: unknown }
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599)
    throw notReply(name, `the status ${typeof status === 'number' ? status : typeNameOf(status)}`)
  if (typeof headers !== 'object' || headers === null) throw notReply(name, `headers that are ${typeNameOf(headers)}`)
  const bad = Object.entries(headers).find((header) => !isValidHeader(header))
  if (bad !== undefined) throw notReply(name, `the header '${bad[0].slice(0, 100)}', which cannot be sent`)
  const isBody = body === null || typeof body === 'string' || body instanceof Uint8Array || isIterable(body)
  if (!isBody) throw notReply(name, `a body that is ${typeNameOf(body)}`)
  return reply as Reply
}

const isIterable = (body: unknown): body is AsyncIterable<unknown> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

const notReply = (name: string, found: string): TypeError =>
  new TypeError(`${name} returned ${found}: return { status: 200, headers: {}, body: '…' }`)

/** Closes the stream of a reply that arrives after the timeout. */
function discardLateReply(reply: unknown): void {
  const body = typeof reply === 'object' && reply !== null && 'body' in reply ? reply.body : undefined
  if (isIterable(body)) runSilently(() => body[Symbol.asyncIterator]().return?.())
}
