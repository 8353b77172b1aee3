import type { Authenticate, AuthRequest, Identity } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Inbound } from './inbound.ts'
import { tokenOffered } from './operations/realtime-token.ts'
import type { Route } from './routes.ts'
import { checkSameSite } from './same-site.ts'
import { isThenable } from './thenable.ts'

/**
 * The client's credential, wherever its kind of client puts it: every SDK has its own habit, and a base URL is often
 * pointed at us with the wrong one, so all header forms are read on every route. The query form is read only where the
 * route says so (SPECIFICATION, Authentication 3): URLs end up in logs.
 */
export function readCredential(inbound: Inbound, route: Route): string | undefined {
  const authorization = inbound.header('authorization')
  if (authorization !== undefined && authorization.slice(0, 7).toLowerCase() === 'bearer ') {
    const token = authorization.slice(7).trim()
    if (token !== '') return token
  }
  const key = inbound.header('x-api-key')?.trim() || inbound.header('x-goog-api-key')?.trim()
  if (key !== undefined && key !== '') return key
  if (route.protocolKey === true) return tokenOffered(inbound)
  if (route.queryKey === true) return new URLSearchParams(inbound.query).get('key') || undefined
  return undefined
}

/**
 * The caller, or a 401 GatewayError. With `auth: 'none'` there is nobody to know: null, or a 403 for what another site sends. A promise only where `auth`
 * makes one; throws or rejects alike.
 */
export function authenticate(
  auth: Authenticate | 'none',
  inbound: Inbound,
  route: Route,
): Identity | null | Promise<Identity> {
  if (auth === 'none') {
    checkSameSite(inbound, route)
    return null
  }
  const credential = readCredential(inbound, route)
  if (credential === undefined)
    throw new GatewayError(
      'authentication',
      "You didn't provide an API key. Send your token as 'Authorization: Bearer <token>' or in the 'x-api-key' header.",
    )
  const request: AuthRequest = {
    method: inbound.method,
    path: inbound.path,
    header: (name) => inbound.header(name.toLowerCase()),
  }
  let found: unknown
  try {
    found = auth(credential, request)
  } catch (cause) {
    throw failed(cause)
  }
  if (!isThenable(found)) return checked(found)
  return Promise.resolve(found).then(checked, (cause: unknown) => {
    throw failed(cause)
  })
}

function failed(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  return new GatewayError('internal', 'The token could not be checked; try again later.', { cause })
}

function checked(identity: unknown): Identity {
  // Falsy, not only null: a function that compares tokens answers false, which must let nobody in.
  if (!identity)
    throw new GatewayError('authentication', 'Incorrect API key provided: the token is unknown, expired or revoked.')
  if (typeof identity !== 'object')
    throw failed(new TypeError(`auth returned ${typeof identity}: return an identity such as { id: 'me' }, or null`))
  return identity as Identity
}
