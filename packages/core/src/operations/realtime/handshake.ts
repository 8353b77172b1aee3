import { GatewayError } from '../../base/errors.ts'
import type { Inbound } from '../../http/inbound.ts'
import { offeredProtocols, tokenProtocolPrefix } from '../../http/inbound.ts'
import type { Handler } from '../route.ts'

const betaPrefix = 'openai-beta.'

/**
 * Chooses the subprotocol of the response: `realtime`, or the first offered one that is no token. A client that offers subprotocols and gets
 * none fails the connection, so a token alone is a 400 that says what is missing.
 */
export function chooseProtocol(inbound: Inbound): string | undefined {
  const names = offeredProtocols(inbound)
  if (names.length === 0) return undefined
  const open = names.filter((name) => !name.startsWith(tokenProtocolPrefix))
  const chosen = open.includes('realtime') ? 'realtime' : open[0]
  if (chosen === undefined)
    throw new GatewayError(
      'invalid_request',
      "Sec-WebSocket-Protocol: a token alone is no protocol that could be answered: offer 'realtime' beside it.",
      { param: 'sec-websocket-protocol' },
    )
  return chosen
}

/** `OpenAI-Beta`, which browsers write as a subprotocol too: `openai-beta.realtime-v1`. */
export function betaHeader(inbound: Inbound): string | undefined {
  const header = inbound.header('openai-beta')
  if (header !== undefined) return header
  return offeredProtocols(inbound)
    .find((name) => name.startsWith(betaPrefix))
    ?.slice(betaPrefix.length)
    .replace('-', '=')
}

/** Checks the handshake of a client (RFC 6455, 4.2.1), before any upstream is called. */
export function checkHandshake(inbound: Inbound): void {
  if (inbound.header('upgrade')?.toLowerCase() !== 'websocket') throw upgradeRequired()
  const version = inbound.header('sec-websocket-version')
  if (version !== '13')
    throw new GatewayError(
      'invalid_request',
      `Sec-WebSocket-Version: ${version === undefined ? 'the header is required' : `'${version.slice(0, 20)}' is not spoken here`}: send 13.`,
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
        "This server does not hand WebSocket upgrades to the gateway: attach server.on('upgrade', nodeUpgrade(gateway)).",
      )
    : new GatewayError('invalid_request', 'This path is a WebSocket: send an upgrade request.', {
        status: 426,
        headers: { upgrade: 'websocket' },
      })

/**
 * What becomes of a query parameter. `model` is sent with the upstream's name for it. Credentials are the client's: they are not sent, and authenticate
 * nobody. Any other parameter is refused. At an upstream it might choose another model or session than was checked (`deployment`, `call_id`,
 * `intent`), and dropping it would open another session than was asked for.
 */
const queryParameters: { readonly [name: string]: 'model' | 'credential' } = {
  model: 'model',
  key: 'credential',
  'api-key': 'credential',
  api_key: 'credential',
  authorization: 'credential',
  access_token: 'credential',
}

/** Reads the requested model, and the query for the upstream. */
export function readQuery({ query }: Inbound): { readonly model: string; queryFor(model: string): string } {
  const asked = new URLSearchParams(query)
  for (const name of asked.keys()) {
    const kind = Object.hasOwn(queryParameters, name.toLowerCase()) ? queryParameters[name.toLowerCase()] : undefined
    if (kind === undefined || (kind === 'model' && name !== 'model')) throw unknownParameter(name.slice(0, 100))
  }
  const [model = '', ...others] = asked.getAll('model')
  if (model === '')
    throw new GatewayError('invalid_request', 'You must provide a model parameter: /v1/realtime?model=<name>.', {
      param: 'model',
    })
  if (others.length > 0)
    throw new GatewayError('invalid_request', "Duplicate query parameter 'model': send it once.", { param: 'model' })
  return { model, queryFor: (name) => new URLSearchParams({ model: name }).toString() }
}

const unknownParameter = (name: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `Unknown query parameter '${name}': realtime sessions take 'model' only. Settings of an upstream, such as its API version, belong to the gateway's configuration.`,
    { param: name },
  )
