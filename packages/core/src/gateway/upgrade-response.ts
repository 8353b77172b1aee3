import type { ErrorInfo } from '../base/errors.ts'
import { idHeaders, json } from '../calls/reply.ts'
import { loadWire } from '../formats/codec-registry.ts'
import { defaultErrorFormat } from '../operations/client-codec.ts'
import type { Route } from '../operations/route.ts'

/**
 * Responses to a WebSocket upgrade, by what the path would open. 426 makes clients fall back at once to POST, which offers the same,
 * instead of retrying.
 */
const responses = {
  responses: { status: 426, message: 'This path does not support WebSocket. Send the request by POST.' },
  realtime: { status: 501, message: 'WebSocket is not available: this server does not keep connections open.' },
  unknown: { status: 404, message: 'This path does not support WebSocket.' },
} as const

/**
 * Returns the response to an upgrade, on hosts that cannot hold sockets, and its error.
 *
 * @param upgrade of the path's route; undefined: the path does not support WebSocket
 */
export async function upgradeResponse(
  upgrade: Route['upgrade'],
  requestId: string,
): Promise<{ readonly response: Response; readonly error: { readonly info: ErrorInfo } }> {
  const { status, message } = responses[upgrade ?? 'unknown']
  const info: ErrorInfo = { kind: 'not_found', status, message }
  const { body } = (await loadWire(defaultErrorFormat)).encodeError(info, requestId)
  const headers = {
    'content-type': json,
    ...idHeaders(requestId),
    ...(status === 426 ? { upgrade: 'HTTP/1.1' } : {}),
  }
  return { response: new Response(JSON.stringify(body), { status, headers }), error: { info } }
}
