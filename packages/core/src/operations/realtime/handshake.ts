import { GatewayError } from '../../base/errors.ts'
import type { Inbound } from '../../http/inbound.ts'
import { offeredProtocols, tokenProtocolPrefix } from '../../http/inbound.ts'
import type { Handler, Route, RoutedCall } from '../route.ts'
import type { SessionKindName } from './session-kinds.ts'

/**
 * Chooses the subprotocol of the response: `realtime`, or the first offered one that is not a token. A client that offers subprotocols
 * closes a connection without one, so an offer of only a token is rejected with a 400 that names the missing protocol.
 */
export function chooseProtocol(inbound: Inbound): string | undefined {
  const names = offeredProtocols(inbound)
  if (names.length === 0) return undefined
  const open = names.filter((name) => !name.startsWith(tokenProtocolPrefix))
  const chosen = open.includes('realtime') ? 'realtime' : open[0]
  if (chosen === undefined)
    throw new GatewayError(
      'invalid_request',
      "Sec-WebSocket-Protocol: a token alone is not a protocol. Offer 'realtime' in addition.",
      { param: 'sec-websocket-protocol' },
    )
  return chosen
}

/** Checks the handshake of a client (RFC 6455, 4.2.1), before any upstream is called. */
export function checkHandshake(inbound: Inbound): void {
  if (inbound.header('upgrade')?.toLowerCase() !== 'websocket') throw upgradeRequired()
  const version = inbound.header('sec-websocket-version')
  if (version !== '13')
    throw new GatewayError(
      'invalid_request',
      `Sec-WebSocket-Version: ${version === undefined ? 'the header is required' : `'${version.slice(0, 20)}' is not supported`}: send 13.`,
      { status: 426, headers: { 'sec-websocket-version': '13' } },
    )
  const key = inbound.header('sec-websocket-key') ?? ''
  // 16 bytes in base64.
  if (key.length !== 24 || !key.endsWith('=='))
    throw new GatewayError('invalid_request', 'Sec-WebSocket-Key: the header is required, with 16 bytes in base64.')
}

/** Refuses a request for the realtime path that no adapter has upgraded. */
export const handleWithoutUpgrade: Handler = async ({ inbound }) => {
  throw upgradeRequired(inbound.header('upgrade'))
}

/** The error for a request to the realtime path that is no upgrade, or that an adapter did not upgrade. */
const upgradeRequired = (upgrade?: string): GatewayError =>
  upgrade?.toLowerCase() === 'websocket'
    ? new GatewayError(
        'not_implemented',
        "This server does not pass WebSocket upgrades to the gateway. Add server.on('upgrade', nodeUpgrade(gateway)).",
      )
    : new GatewayError('invalid_request', 'This path requires WebSocket. Send an upgrade request.', {
        status: 426,
        headers: { upgrade: 'websocket' },
      })

/**
 * Query parameters with credentials of the client. They are not sent, and don't authenticate it. The model's name is sent as the upstream's.
 * Any other parameter is rejected: at an upstream it could choose another model or session than the checked one (`deployment`,
 * `call_id`), and without it the session would differ from the requested one.
 */
const credentialParameters: ReadonlySet<string> = new Set([
  'key',
  'api-key',
  'api_key',
  'authorization',
  'access_token',
])

/** What the URL of an upgrade asks for. */
export interface SessionQuery {
  readonly kind: SessionKindName
  /** Undefined: the client's first message names it. */
  readonly model: string | undefined
}

/** Reads the kind of session and its model, from the path if that names it, and the query. */
export function readQuery({ inbound, route, params }: Pick<RoutedCall, 'inbound' | 'route' | 'params'>): SessionQuery {
  const { sessionKind } = route
  const { model: modelName = 'model', ignored = [] } = route.sessionQuery ?? {}
  const read = sessionKind !== undefined ? [] : params.model === undefined ? [modelName, 'intent'] : ['intent']
  const parameters = readParameters(inbound, read, ignored)
  if (sessionKind !== undefined) return { kind: sessionKind, model: undefined }
  const intent = single(parameters, 'intent')
  if (intent !== undefined && intent !== 'transcription')
    throw new GatewayError(
      'invalid_request',
      `intent: '${intent.slice(0, 100)}' is not supported. Use 'transcription', or leave it out.`,
      { param: 'intent' },
    )
  const kind = intent ?? 'voice'
  const model = params.model ?? single(parameters, modelName)
  if (model === '') throw modelRequired(route)
  return { kind, model }
}

/** Returns the query parameters. Throws GatewayError for one that is neither read, ignored nor a credential. */
export function readParameters(
  { query }: Pick<Inbound, 'query'>,
  read: readonly string[],
  ignored: readonly string[] = [],
): URLSearchParams {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys())
    if (!read.includes(name) && !ignored.includes(name) && !credentialParameters.has(name.toLowerCase()))
      throw unknownParameter(name.slice(0, 100), read)
  return parameters
}

/** The error for a URL that must name a model. */
export function modelRequired({ path, sessionQuery }: Pick<Route, 'path' | 'sessionQuery'>): GatewayError {
  const name = sessionQuery?.model ?? 'model'
  return new GatewayError('invalid_request', `You must provide a ${name} parameter: ${path}?${name}=<name>.`, {
    param: name,
  })
}

export function single(parameters: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = parameters.getAll(name)
  if (others.length > 0)
    throw new GatewayError('invalid_request', `Duplicate query parameter '${name}': send it once.`, { param: name })
  return value
}

const unknownParameter = (name: string, read: readonly string[]): GatewayError =>
  new GatewayError(
    'invalid_request',
    `Unknown query parameter '${name}': this path accepts ${read.length === 0 ? 'none' : `only ${read.map((one) => `'${one}'`).join(' and ')}`}. Set options of an upstream, such as its API version, in the gateway's configuration.`,
    { param: name },
  )
