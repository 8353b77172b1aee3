import type { TokenCounting } from '../../accounting/call-record.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { SharedFormat } from '../../base/names.ts'
import type { GatewayContext } from '../../calls/call.ts'
import { callHeaders } from '../../calls/reply.ts'
import { type TargetResponse, tryTargets } from '../../calls/try-targets.ts'
import type { RealtimeSession, RealtimeTransport } from '../../config/realtime.ts'
import { wireCodecs } from '../../formats/codec-registry.ts'
import { createReport } from '../../formats/loss-report.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Inbound } from '../../http/inbound.ts'
import type { Transport, TransportResponse } from '../../http/transport.ts'
import type { RequestWriter, TargetRequest } from '../../lanes/lane.ts'
import type { ResolvedTarget } from '../../routing/router.ts'
import { callUrl, configuredKeyHeaders } from '../../upstreams/outgoing-call.ts'
import { mayHaveErrorMember, redactorOf } from '../../upstreams/redaction/redactor.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import { unsupportedOperation } from '../operation.ts'
import type { RoutedCall } from '../route.ts'
import { betaHeader, checkHandshake, chooseProtocol, readQuery } from './handshake.ts'
import { addUsage, clientMessageCheck, realtimePlaces, usageOfResponse } from './messages.ts'

/** Limit in milliseconds for opening a WebSocket, which needs no computed response. Lower limits of the configuration apply. */
const openMs = 30_000
/** A close frame holds 125 bytes, two of which are the code. */
const reasonBytes = 123

/**
 * Opens a session at the first of the model's targets whose upstream accepts it. The adapter accepts the client only then, so that the
 * client receives every failure over HTTP. Rejects with a GatewayError; the session ends the call.
 */
export async function openRealtime<Socket>(
  call: RoutedCall,
  dial: RealtimeTransport<Socket>,
): Promise<RealtimeSession<Socket>> {
  const { inbound, record, signal } = call
  record.stream = true
  record.lane = 'wire'
  checkHandshake(inbound)
  const protocol = chooseProtocol(inbound)
  const { model, queryFor } = readQuery(call)
  record.model = model
  record.tokenCounting = speech
  const shared = boundedShared(call.shared)
  const sockets: Socket[] = []
  const transport = dialTransport(dial, sessionLimits(shared).messageBytes, sockets)
  const writer: RequestWriter = { write: (target) => upgradeRequest(call, target, queryFor(target.model)) }
  // Opening a session again is cheap for the client, so it does not wait for retries of the gateway.
  const search = { repeats: false, waits: false, hedges: false }
  const modelPlaces = realtimePlaces
  const opened = await tryTargets({
    shared,
    inbound,
    record,
    request: noBody,
    modelPlaces,
    writer,
    search,
    transport,
    signal,
  })
  return sessionOf(call, opened, sockets[0] as Socket, protocol)
}

/** Replaces the time limit of a response by that of opening a session. */
function boundedShared(shared: GatewayContext): GatewayContext {
  const { limits } = shared
  return { ...shared, limits: { ...limits, firstByteMs: Math.min(limits.firstByteMs, openMs) } }
}

/** Calls upstream by dialling. A socket that opens is added to `sockets`. */
function dialTransport<Socket>(dial: RealtimeTransport<Socket>, messageBytes: number, sockets: Socket[]): Transport {
  const transport = async ({ url, headers, signal }: Parameters<Transport>[0]): Promise<TransportResponse> => {
    const dialled = await dial({ url, headers, messageBytes, signal })
    if ('refusal' in dialled) return dialled.refusal
    sockets.push(dialled.socket)
    return switchingProtocols
  }
  // Adapters give a dial up when its signal is aborted. A second race against the signal would lose sockets.
  return Object.assign(transport, { settlesOnAbort: true as const })
}

const switchingProtocols: TransportResponse = {
  status: 101,
  header: () => undefined,
  bytes: async () => new Uint8Array(),
  async *stream() {},
  discard() {},
}

function upgradeRequest(
  { inbound, record }: RoutedCall,
  { upstream, model }: ResolvedTarget,
  query: string,
): TargetRequest {
  if (upstream.realtime === undefined) throw unsupportedOperation(record.model.slice(0, 100), record.operation)
  const base = callUrl(upstream, upstream.realtime, undefined, model)
  return {
    lane: { kind: 'wire', body: '', report: createReport(), readResponse: noResponse, openStream: noResponse },
    url: `${base}${base.includes('?') ? '&' : '?'}${query}`,
    codec: wireCodecs[errors],
    ignoresOverrides: true,
    upgrade: { headers: (key) => headersOf(upstream, key, inbound) },
  }
}

/** The format of errors of upstreams with sessions. */
const errors: SharedFormat = 'chat'

const noResponse = (): never => {
  throw new GatewayError('internal', 'A WebSocket has no response to read.')
}

/** The output of a session has no upper bound. */
const speech: TokenCounting = { output: { fields: [] } }

/** The URL alone asks for a session. */
const noBody: RequestBody = { bytes: new Uint8Array(0), text: '', members: [], value: {}, fields: {} }

function headersOf(upstream: Upstream, key: number | undefined, inbound: Inbound): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of upstream.passHeaders) {
    const value = inbound.header(name)
    if (value !== undefined) headers[name] = value
  }
  const beta = betaHeader(inbound)
  if (beta !== undefined) headers['openai-beta'] = beta
  return { ...headers, ...configuredKeyHeaders(upstream, key) }
}

const sessionLimits = ({ limits }: GatewayContext) => ({
  idleMs: limits.realtimeIdleMs,
  clientStallMs: limits.clientStallMs,
  heartbeatMs: limits.heartbeatMs,
  messageBytes: limits.realtimeMessageBytes,
})

function sessionOf<Socket>(
  { shared, record, signal, end }: RoutedCall,
  { target: { upstream }, trackedAttempt: ticket }: TargetResponse,
  socket: Socket,
  protocol: string | undefined,
): RealtimeSession<Socket> {
  const checkClient = clientMessageCheck(shared.router, record.identity)
  const redactor = redactorOf(upstream)
  return {
    upstream: socket,
    protocol,
    signal,
    headers: callHeaders(record),
    ...sessionLimits(shared),
    passesUnread: (message) => message.length >= longDelta && isDelta(message),
    readUpstream(text) {
      const suspected = mayHaveErrorMember(text) || redactor.hasCredential(text)
      if (!suspected && text.startsWith('{') && !text.includes('"response.done"')) return text
      const event = parse(text)
      // No client of the protocol reads messages that are not objects.
      if (!isObject(event)) return redactor.redactText(text)
      const usage = event.type === 'response.done' ? usageOfResponse(event) : undefined
      if (usage !== undefined) record.usage = addUsage(record.usage, usage)
      return suspected ? redactor.redactJson(text, isFailure(event) ? 'error' : 'plain') : text
    },
    ...(checkClient === undefined ? {} : { checkClient }),
    begun() {
      record.firstEventAt ??= performance.now()
    },
    closeReason: (reason) => truncateToBytes(redactor.redactText(reason), reasonBytes),
    settle({ outcome, error }) {
      // A session that was open shows that its upstream is available, however it ended.
      ticket.end(undefined)
      end({ status: 101, outcome, error })
    },
  }
}

/** Deltas of at least this length, in bytes, are audio: decoding them would cost more than passing them on. */
const longDelta = 2048
const decoder = new TextDecoder()

/** Returns whether a message is a delta, by its type, which is at its beginning. */
const isDelta = (message: Uint8Array): boolean =>
  /"type"\s*:\s*"[\w.]+\.delta"/.test(decoder.decode(message.subarray(0, 256)))

/** Returns whether an event is `error`, or reports the failure of a response, a transcription or a list of tools. */
const isFailure = ({ type }: JsonObject): boolean => typeof type === 'string' && /^error$|\.failed$/.test(type)

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

const encoder = new TextEncoder()

/** Returns the longest beginning of a text within the bytes, without splitting a character. */
function truncateToBytes(text: string, bytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(bytes))
  return text.slice(0, read)
}
