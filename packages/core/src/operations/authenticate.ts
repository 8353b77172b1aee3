import { isThenable, type Signal } from '../base/async.ts'
import { settleWithin, typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { Authenticate, AuthRequest } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import { type Inbound, offeredToken } from '../http/inbound.ts'
import type { Route } from './routes.ts'
import { checkSameSite } from './same-site.ts'

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
  if (route.protocolKey === true) return offeredToken(inbound)
  if (route.queryKey === true) return new URLSearchParams(inbound.query).get('key') || undefined
  return undefined
}

/**
 * The caller, or a 401 GatewayError. With `auth: 'none'` the identity is null; a request from another site's page is a 403. A promise only where `auth`
 * makes one; throws or rejects alike.
 *
 * @param callbackMs for how long a promise of `auth` is awaited
 * @param signal ends that wait too
 */
export function authenticate(
  auth: Authenticate | 'none',
  inbound: Inbound,
  route: Route,
  callbackMs: number,
  signal: Signal,
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
    if (!isThenable(found)) return assertIdentity(found)
  } catch (cause) {
    throw failed(cause)
  }
  return settleWithin(found, { name: 'auth', ms: callbackMs, signal })
    .then(assertIdentity)
    .catch((cause: unknown) => {
      throw failed(cause)
    })
}

function failed(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  return new GatewayError('internal', 'The token could not be checked; try again later.', { cause })
}

function assertIdentity(identity: unknown): Identity {
  // Falsy, not only null: a function that compares tokens answers false, which must let nobody in.
  if (!identity)
    throw new GatewayError('authentication', 'Incorrect API key provided: the token is unknown, expired or revoked.')
  if (typeof identity !== 'object')
    throw new TypeError(`auth returned ${typeof identity}: return an identity such as { id: 'me' }, or null`)
  const { id, models, onLoss } = identity as { readonly [field in keyof Identity]?: unknown }
  // Limits, stored responses and logs go by the id: callers without one would share them.
  if (typeof id !== 'string' || id === '')
    throw wrongField('id', id, 'a string of at least one character that is the same for each call of this caller')
  // A text has most methods of a list, and would be read letter by letter.
  if (models !== undefined && !Array.isArray(models)) throw wrongField('models', models, "a list such as ['gpt-*']")
  if (onLoss !== undefined && onLoss !== null && !Array.isArray(onLoss))
    throw wrongField('onLoss', onLoss, "a list such as ['warn', 'reject']")
  return identity as Identity
}

const wrongField = (field: string, value: unknown, wanted: string): TypeError =>
  new TypeError(
    `auth returned an identity whose ${field} is ${value === '' ? 'empty' : typeNameOf(value)}: give it ${wanted}`,
  )
