import { json } from '../calls/reply.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import { defaultErrorFormat, normalizePath, upgrades } from '../operations/routes.ts'

/** Responses to a WebSocket upgrade. 426 makes clients fall back to POST at once instead of retrying. */
const responses = {
  fallback: { status: 426, message: 'This path is not served over WebSocket: send the request by POST.' },
  unavailable: { status: 501, message: 'WebSocket is not available here: this server does not hold sockets.' },
  unknown: { status: 404, message: 'There is no WebSocket on this path.' },
} as const

/** Returns the response to an upgrade, on hosts that cannot hold sockets. The path is below the base path. */
export function upgradeResponse(path: string): Response {
  const { status, message } = responses[upgrades[normalizePath(path)] ?? 'unknown']
  const { body } = wireCodecOf(defaultErrorFormat).encodeError({ kind: 'not_found', status, message }, '')
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': json, ...(status === 426 ? { upgrade: 'HTTP/1.1' } : {}) },
  })
}
