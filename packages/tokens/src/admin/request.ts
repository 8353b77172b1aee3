import { GatewayError, type Inbound } from '@modelgate/core'

/** Largest body in bytes. */
const bodyBytes = 65_536

/**
 * The fields of a request that changes something; no body is no fields.
 * Throws GatewayErrors: `unsupported_media_type`, `request_too_large`, `invalid_request` with `param`.
 */
export async function readFields(inbound: Inbound, allowed?: readonly string[]): Promise<Record<string, unknown>> {
  checkMediaType(inbound)
  const text = new TextDecoder().decode(await inbound.read(bodyBytes))
  if (text.trim() === '') return {}
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_request', 'The body is no JSON.', { cause })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError('invalid_request', 'The body is a JSON object.')
  const fields = body as Record<string, unknown>
  if (allowed !== undefined) checkNames(Object.keys(fields), allowed, 'field')
  return fields
}

/** The parameters of a query, each at most once. */
export function readQuery({ query }: Inbound, allowed: readonly string[]): Readonly<Record<string, string>> {
  const parameters = [...new URLSearchParams(query)]
  const names = parameters.map(([name]) => name)
  checkNames(names, allowed, 'query parameter')
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new GatewayError('invalid_request', `'${twice}' is given twice.`, { param: twice })
  return Object.fromEntries(parameters)
}

/** Forms of other sites can send anything but this, with the cookies of who looks at them. */
function checkMediaType(inbound: Inbound): void {
  const type = inbound.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/json') return
  throw new GatewayError(
    'unsupported_media_type',
    `Send 'content-type: application/json', also without a body${type ? `; this is '${type.slice(0, 100)}'` : ''}.`,
  )
}

function checkNames(names: readonly string[], allowed: readonly string[], what: string): void {
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown === undefined) return
  const known = allowed.length === 0 ? 'there is none here' : `${allowed.join(', ')} are known`
  throw new GatewayError('invalid_request', `There is no ${what} '${unknown.slice(0, 100)}': ${known}.`, {
    param: unknown.slice(0, 100),
  })
}
