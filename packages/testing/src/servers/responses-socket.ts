import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { asObject, asString, isObject, type Json, type JsonObject } from '../base/json.ts'
import { itemsOf } from '../formats/responses/input.ts'
import type { FakeProvider } from '../provider/provider.ts'
import { plainRefusal, type RealtimeRefusal } from './realtime.ts'

/** A client's WebSocket on the fake's side, with a test's controls. */
export interface FakeResponsesSocket {
  /** Headers of the upgrade, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The text messages, as received. */
  readonly received: readonly string[]
  /** Undefined while the WebSocket is open. 1006: without a close frame. */
  readonly closeCode: number | undefined
  /** Sends an object as JSON. */
  send(message: JsonObject): void
  close(code?: number, reason?: string): void
  /** Breaks the connection without a close frame. */
  drop(): void
  /** Forgets the latest response, which only the WebSocket remembers. */
  forget(): void
  /** Rejects the next request as after 60 minutes, and closes. */
  expire(): void
}

/** Options of `createResponsesSockets`. */
export interface FakeResponsesSocketsOptions {
  /** Sends `codex.rate_limits` before each response and each error of a request, as OpenAI does for some accounts. Default: false. */
  readonly rateLimits?: boolean
}

/** The WebSocket mode of OpenAI's Responses API, on a server's `upgrade` event. */
export interface FakeResponsesSockets {
  /** Handler for `server.on('upgrade', …)`. Accepts `/v1/responses` and `/responses`; other paths return 404. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Uint8Array) => void
  /** All WebSockets since the start, the oldest first. */
  readonly sockets: readonly FakeResponsesSocket[]
  /** Rejects one of the next upgrades for each refusal. */
  refuse(...refusals: readonly RealtimeRefusal[]): void
}

/**
 * Creates the WebSocket mode of a provider. Each `response.create` message is a request to its `/v1/responses`, so scripted replies, faults
 * and checks apply. A WebSocket runs one response at a time, and remembers its latest one, also with `store: false`. Node only.
 */
export async function createResponsesSockets(
  provider: FakeProvider,
  options: FakeResponsesSocketsOptions = {},
): Promise<FakeResponsesSockets> {
  // Imported here, so that the rest of this package loads without Node.
  const { WebSocketServer } = await import('ws')
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false })
  const sockets: FakeResponsesSocket[] = []
  const refusals: RealtimeRefusal[] = []
  return {
    sockets,
    refuse: (...more) => void refusals.push(...more),
    upgrade(request, socket, head) {
      const { pathname } = new URL(request.url ?? '/', 'http://fake.invalid')
      const isServed = pathname === '/v1/responses' || pathname === '/responses'
      const refusal = isServed ? (refusals.shift() ?? credentialRefusal(request)) : { status: 404 }
      if (refusal !== undefined) socket.end(plainRefusal(refusal))
      // The types require Node's Buffer, which the bytes of an upgrade always are.
      else
        server.handleUpgrade(request, socket, head as Parameters<typeof server.handleUpgrade>[2], (accepted) => {
          sockets.push(serve(accepted, request, provider, options))
        })
    },
  }
}

/** A missing key is rejected at once. The provider checks a wrong one with each message. */
const credentialRefusal = ({ headers }: IncomingMessage): RealtimeRefusal | undefined =>
  /^Bearer ./.test(headers.authorization ?? '') || headers['api-key'] !== undefined
    ? undefined
    : { status: 401, body: JSON.stringify({ error: { type: 'invalid_request_error', code: 'invalid_api_key' } }) }

/** Members of a POST that a message must not have, unless with these values. */
const transportMembers = { stream: true, background: false } as const

const terminalTypes: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Limits of an account, as OpenAI reports them on a WebSocket. */
const rateLimits: JsonObject = {
  type: 'codex.rate_limits',
  plan_type: 'plus',
  rate_limits: {
    allowed: true,
    limit_reached: false,
    primary: { used_percent: 12, window_minutes: 300, reset_at: 1_764_000_000 },
    secondary: null,
  },
}

function serve(
  socket: WebSocket,
  request: IncomingMessage,
  provider: FakeProvider,
  options: FakeResponsesSocketsOptions,
): FakeResponsesSocket {
  const headers = Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
  const received: string[] = []
  const disconnected = new AbortController()
  let closeCode: number | undefined
  let isBusy = false
  let isExpired = false
  let latest: { readonly id: string; readonly items: readonly JsonObject[] } | undefined

  const send = (message: JsonObject | string): void => {
    if (socket.readyState === socket.OPEN)
      socket.send(typeof message === 'string' ? message : JSON.stringify(message), { binary: false })
  }
  const reject = (status: number, error: JsonObject, headers: JsonObject = {}): void =>
    send({ type: 'error', status, error, headers })

  const respond = async (message: JsonObject): Promise<void> => {
    const { type: _, ...body } = message
    const previous = asString(body.previous_response_id)
    const known = latest !== undefined && previous === latest.id ? latest.items : undefined
    const input = known === undefined ? body.input : [...known, ...itemsOf(body.input)]
    const expanded: JsonObject = { ...body, stream: true }
    if (input !== undefined) expanded.input = input as Json
    if (known !== undefined) delete expanded.previous_response_id
    const response = await provider.fetch('http://fake.invalid/v1/responses', {
      method: 'POST',
      headers: { ...credentialsOf(headers), 'content-type': 'application/json' },
      body: JSON.stringify(expanded),
      signal: disconnected.signal,
    })
    if (!response.ok) {
      latest = undefined
      isBusy = false
      reject(response.status, asObject(asObject(await response.json()).error), Object.fromEntries(response.headers))
      return
    }
    // The next request may follow the last event at once.
    let last: string | undefined
    for await (const data of eventData(response)) {
      if (last !== undefined) send(last)
      last = undefined
      const event = asObject(JSON.parse(data) as Json)
      if (!terminalTypes.has(asString(event.type))) {
        send(data)
        continue
      }
      last = data
      if (event.type === 'response.completed' && isObject(event.response))
        latest = {
          id: asString(event.response.id),
          items: [...itemsOf(input), ...itemsOf(event.response.output)],
        }
    }
    isBusy = false
    if (last !== undefined) send(last)
  }

  socket.on('message', (data: Uint8Array, isBinary) => {
    const text = new TextDecoder().decode(data)
    received.push(text)
    const message = isBinary ? undefined : parse(text)
    const invalid = message === undefined ? 'The message is not a JSON object.' : problemOf(message, isBusy)
    if (message === undefined || invalid !== undefined) {
      reject(400, { type: 'invalid_request_error', code: 'invalid_message', message: invalid ?? '', param: null })
      return
    }
    if (isExpired) {
      reject(400, {
        type: 'invalid_request_error',
        code: 'websocket_connection_limit_reached',
        message:
          'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
        param: null,
      })
      socket.close(1001)
      return
    }
    isBusy = true
    if (options.rateLimits === true) send(rateLimits)
    respond(message)
      // A fault breaks the connection.
      .catch(() => socket.terminate())
  })
  socket.on('error', () => {})
  socket.on('close', (code) => {
    closeCode = code
    disconnected.abort(new DOMException('The client closed the connection.', 'AbortError'))
  })
  return {
    headers,
    received,
    get closeCode() {
      return closeCode
    },
    send,
    close: (code, reason) => socket.close(code, reason),
    drop: () => socket.terminate(),
    forget() {
      latest = undefined
    },
    expire() {
      isExpired = true
    },
  }
}

function problemOf(message: JsonObject, isBusy: boolean): string | undefined {
  if (message.type !== 'response.create') return "Unknown message type. Send 'response.create'."
  if (isBusy) return 'A response is already in progress on this WebSocket.'
  const wrong = Object.entries(transportMembers).find(([name, value]) => (message[name] ?? value) !== value)
  return wrong && `Unsupported parameter: '${wrong[0]}' on a WebSocket.`
}

const credentialsOf = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name === 'authorization' || name === 'api-key'))

/** Yields the data of each event of a stream. */
async function* eventData(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const line = block.split('\n').find((one) => one.startsWith('data: '))
      if (line !== undefined) yield line.slice('data: '.length)
    }
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
