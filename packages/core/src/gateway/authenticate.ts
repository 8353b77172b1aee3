import { isThenable, type Signal, settleWithin } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { Authenticate, AuthRequest } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import { type Inbound, offeredToken } from '../http/inbound.ts'
import type { Route } from '../operations/route.ts'

/** Headers that carry a token alone: of Anthropic's, Google's and Azure's clients. */
const keyHeaders = ['x-api-key', 'x-goog-api-key', 'api-key'] as const

/** The properties of a route that decide how its callers are authenticated. */
type AccessRules = Pick<Route, 'method' | 'operation' | 'queryKey' | 'protocolKey'>

/**
 * Reads the client's credential. Each SDK has its own header, and clients often call a route of another provider's format: every
 * header is read on every route. The query is read only where the route allows it (SPECIFICATION, Authentication 3), since URLs end
 * up in logs.
 *
 * @throws GatewayError `authentication` for different credentials in one request: servers in front of the gateway may check another one
 */
export function readCredential(inbound: Inbound, route: AccessRules): string | undefined {
  let credential = bearerToken(inbound.header('authorization'))
  for (const name of keyHeaders) credential = sameCredential(credential, inbound.header(name)?.trim())
  if (route.protocolKey === true) credential = sameCredential(credential, offeredToken(inbound))
  if (route.queryKey === true && inbound.query !== '')
    credential = sameCredential(credential, new URLSearchParams(inbound.query).get('key') ?? undefined)
  return credential
}

/** Returns the error for a request without a credential that the gateway can check. */
function missingCredential(inbound: Inbound): GatewayError {
  const scheme = inbound.header('authorization')?.split(' ', 1)[0]?.toLowerCase() ?? ''
  const isSigned = scheme.startsWith('aws4-') || /(?:^|&)x-amz-signature=/i.test(inbound.query)
  return new GatewayError(
    'authentication',
    isSigned
      ? "This gateway doesn't verify AWS signatures. Send your gateway token as a Bedrock API key: set the environment variable AWS_BEARER_TOKEN_BEDROCK, or send 'Authorization: Bearer <token>'."
      : "You didn't provide an API key. Send your token as 'Authorization: Bearer <token>' or in the 'x-api-key' header.",
  )
}

function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined
  return authorization.slice(7).trim() || undefined
}

/** Returns the credential of a request that has the first one, or none, and another place that may be empty. */
function sameCredential(first: string | undefined, other: string | undefined): string | undefined {
  if (other === undefined || other === '' || other === first) return first
  if (first === undefined) return other
  throw new GatewayError(
    'authentication',
    "The request has two different API keys. Send your token once, or the same token in each place: 'Authorization: Bearer', 'x-api-key', 'x-goog-api-key', 'api-key' or the query parameter 'key'.",
  )
}

/**
 * Returns the caller's identity: null with `auth: 'none'`. Returns a promise only if `auth` does. Throws or rejects with a GatewayError: 401
 * for an unknown credential, 403 for a request from another site's page under `auth: 'none'`.
 *
 * @param callbackMs for how long a promise of `auth` is awaited
 * @param signal ends that wait too
 */
export function authenticate(
  auth: Authenticate | 'none',
  inbound: Inbound,
  route: AccessRules,
  callbackMs: number,
  signal: Signal,
): Identity | null | Promise<Identity> {
  if (auth === 'none') {
    checkSameSite(inbound, route)
    return null
  }
  const credential = readCredential(inbound, route)
  if (credential === undefined) throw missingCredential(inbound)
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
  // Falsy, not only null: a function that compares tokens returns false, which must reject the caller.
  if (!identity)
    throw new GatewayError('authentication', 'Incorrect API key provided: the token is unknown, expired or revoked.')
  if (typeof identity !== 'object')
    throw new TypeError(`auth returned ${typeof identity}: return an identity such as { id: 'me' }, or null`)
  const { id, models, onLoss } = identity as { readonly [field in keyof Identity]?: unknown }
  // Limits, stored responses and logs use the id: callers without one would share them.
  if (typeof id !== 'string' || id === '')
    throw wrongField('id', id, 'a string of at least one character that is the same for each call of this caller')
  // A string has most methods of an array, and would be read letter by letter.
  if (models !== undefined && !Array.isArray(models)) throw wrongField('models', models, "a list such as ['gpt-*']")
  if (onLoss !== undefined && onLoss !== null && !Array.isArray(onLoss))
    throw wrongField('onLoss', onLoss, "a list such as ['warn', 'reject']")
  return identity as Identity
}

const wrongField = (field: string, value: unknown, wanted: string): TypeError =>
  new TypeError(
    `auth returned an identity whose ${field} is ${value === '' ? 'empty' : typeNameOf(value)}: give it ${wanted}`,
  )

/** Content types that browsers send to another site without a CORS preflight. */
const withoutPreflight: ReadonlySet<string> = new Set([
  'text/plain',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
])

/** Operations that a page of any site can make a browser call, although they are not a POST with a body. */
const withoutBody: ReadonlySet<Route['operation']> = new Set<Route['operation']>([
  'cancel-response',
  'cancel-object',
  'control-call',
  'realtime',
])

/**
 * Rejects requests that a page of another site can make a browser send without a CORS preflight: a WebSocket, or a POST with the content
 * type of a form. Needed only without authentication.
 *
 * @throws GatewayError `permission`, or `unsupported_media_type` for a body without a content type
 */
function checkSameSite(inbound: Inbound, { method, operation }: Pick<Route, 'method' | 'operation'>): void {
  const hasNoBody = withoutBody.has(operation)
  if (method !== 'POST' && !hasNoBody) return
  const type = inbound.header('content-type')
  if (type === undefined && !hasNoBody)
    throw new GatewayError('unsupported_media_type', "The request has no content type: send 'application/json'.")
  const essence = type?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!hasNoBody && !withoutPreflight.has(essence)) return
  if (isCrossSite(inbound))
    throw new GatewayError(
      'permission',
      "Cross-origin browser requests are rejected, because this gateway requires no credentials (auth: 'none'). Configure auth, or send the request from the same origin.",
    )
}

function isCrossSite(inbound: Inbound): boolean {
  const site = inbound.header('sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const origin = inbound.header('origin')
  if (origin === undefined) return false
  try {
    return new URL(origin).host !== inbound.header('host')?.toLowerCase()
  } catch {
    return true
  }
}
