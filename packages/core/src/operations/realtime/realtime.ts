import type { CallRecord, TokenCounting } from '../../accounting/call-record.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { GatewayContext } from '../../calls/call.ts'
import { callHeaders, idHeaders } from '../../calls/reply.ts'
import { type TargetResponse, tryTargets } from '../../calls/try-targets.ts'
import type {
  PendingSession,
  RealtimeClosing,
  RealtimeOpening,
  RealtimeSession,
  RealtimeTransport,
} from '../../config/realtime.ts'
import { loadWire, wireCodecs } from '../../formats/codec-registry.ts'
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
import { checkHandshake, chooseProtocol, modelRequired, readQuery } from './handshake.ts'
import { closeReason, modelListCheck, parse } from './messages.ts'
import { readFirstMessage } from './naming.ts'
import { enterPending } from './pending-limit.ts'
import { createProgress } from './progress.ts'
import { goingAway, type SessionKind, sessionKinds } from './session-kinds.ts'

/** Limit in milliseconds for opening a WebSocket, which needs no computed response. Lower limits of the configuration apply. */
const openMs = 30_000

/** Maximum size in bytes of a first message: nobody has checked yet whether its sender may use a model. Audio comes later. */
const firstMessageBytes = 1024 * 1024

/** Ends a call that failed after its client was accepted. */
export type FailCall = (error: GatewayError) => void

/** A session that is open, or that waits for the client's first message. */
export type OpenedSession<Socket> = Extract<RealtimeOpening<Socket>, { ok: true }>

/**
 * Opens a session at the first of the model's targets whose upstream accepts it. The adapter accepts the client only then, so that the
 * client receives every failure over HTTP. If the client's first message names the model, the adapter accepts the client first. Rejects
 * with a GatewayError; the session ends the call.
 */
export async function openRealtime<Socket>(
  call: RoutedCall,
  dial: RealtimeTransport<Socket>,
  fail: FailCall,
): Promise<OpenedSession<Socket>> {
  const { inbound, record } = call
  record.stream = true
  record.lane = 'wire'
  checkHandshake(inbound)
  const protocol = chooseProtocol(inbound)
  const { kind: name, model } = readQuery(call)
  const kind = sessionKinds[name]
  if (model !== undefined) return { ok: true, session: await connect(call, dial, kind, model, protocol) }
  const { naming } = kind
  if (naming === undefined) throw modelRequired(call.route)
  return { ok: true, pending: pendingSession(call, dial, { ...kind, naming }, protocol, fail) }
}

/** A kind of sessions whose client names the model in its first message. */
type PendingKind = SessionKind & Required<Pick<SessionKind, 'naming'>>

function pendingSession<Socket>(
  call: RoutedCall,
  dial: RealtimeTransport<Socket>,
  kind: PendingKind,
  protocol: string | undefined,
  fail: FailCall,
): PendingSession<Socket> {
  const { shared, record, signal } = call
  const { idleMs, messageBytes } = sessionLimits(shared)
  const leave = enterPending(shared.limits, record.identity)
  const close = (error: GatewayError, message = ''): RealtimeClosing => {
    leave()
    fail(error)
    const closing = kind.close(error, message)
    return signal.aborted ? { ...closing, code: goingAway } : closing
  }
  return {
    protocol,
    signal,
    headers: idHeaders(record.requestId),
    messageBytes,
    firstMessageMs: Math.min(idleMs, openMs),
    firstMessageBytes: Math.min(messageBytes, firstMessageBytes),
    async connect(text, isBinary) {
      try {
        modelListCheck(kind.places, shared.router, record.identity)?.(text, isBinary)
        kind.checkStoredState?.(shared.references)?.(text, isBinary)
        const first = readFirstMessage(text, kind.naming)
        const session = await connect(call, dial, kind, first.model, protocol)
        leave()
        return { session, first: first.write(record.upstreamModel ?? first.model) }
      } catch (cause) {
        const error =
          cause instanceof GatewayError
            ? cause
            : new GatewayError('internal', 'The gateway failed to open the session.', { cause })
        return { closing: close(error, text) }
      }
    },
    fail: close,
  }
}

async function connect<Socket>(
  call: RoutedCall,
  dial: RealtimeTransport<Socket>,
  kind: SessionKind,
  model: string,
  protocol: string | undefined,
): Promise<RealtimeSession<Socket>> {
  const { inbound, record, signal } = call
  record.model = model
  record.tokenCounting = speech
  await loadWire(kind.errors)
  const shared = boundedShared(call.shared)
  const sockets: Socket[] = []
  const transport = dialTransport(dial, sessionLimits(shared).messageBytes, sockets)
  const writer: RequestWriter = { write: (target) => upgradeRequest(call, kind, target) }
  // Opening a session again is cheap for the client, so it does not wait for retries of the gateway.
  const search = { repeats: false, waits: false, hedges: false }
  const opened = await tryTargets({
    shared,
    inbound,
    record,
    request: noBody,
    modelPlaces: kind.places,
    writer,
    search,
    transport,
    signal,
  })
  return sessionOf(call, kind, opened, sockets[0] as Socket, protocol)
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
  kind: SessionKind,
  { upstream, model }: ResolvedTarget,
): TargetRequest {
  const path = kind.path(upstream)
  if (path === undefined) throw unsupportedOperation(record.model.slice(0, 100), kind.label)
  const base = callUrl(upstream, path, undefined, model)
  const query = kind.query(model)
  return {
    lane: { kind: 'wire', body: '', report: createReport(), readResponse: noResponse, openStream: noResponse },
    url: query === '' ? base : `${base}${base.includes('?') ? '&' : '?'}${query}`,
    codec: wireCodecs[kind.errors],
    ignoresOverrides: true,
    upgrade: { headers: (key) => headersOf(kind, upstream, key, inbound) },
  }
}

const noResponse = (): never => {
  throw new GatewayError('internal', 'A WebSocket has no response to read.')
}

/** The output of a session has no upper bound. */
const speech: TokenCounting = { output: { fields: [] } }

/** The URL alone asks for a session. */
const noBody: RequestBody = { bytes: new Uint8Array(0), text: '', members: [], value: {}, fields: {} }

function headersOf(
  kind: SessionKind,
  upstream: Upstream,
  key: number | undefined,
  inbound: Inbound,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of upstream.passHeaders) {
    const value = inbound.header(name)
    if (value !== undefined) headers[name] = value
  }
  return { ...headers, ...kind.headers(inbound), ...configuredKeyHeaders(upstream, key) }
}

const sessionLimits = ({ limits }: GatewayContext) => ({
  idleMs: limits.realtimeIdleMs,
  clientStallMs: limits.clientStallMs,
  heartbeatMs: limits.heartbeatMs,
  messageBytes: limits.realtimeMessageBytes,
})

function sessionOf<Socket>(
  { shared, record, signal, end }: RoutedCall,
  kind: SessionKind,
  { target, trackedAttempt: ticket }: TargetResponse,
  socket: Socket,
  protocol: string | undefined,
): RealtimeSession<Socket> {
  const { usage, readsBinary } = kind
  const readClient = clientReader(kind, shared, record, target)
  const redactor = redactorOf(target.upstream)
  const { cut, report } = createProgress(record, shared, kind)
  return {
    upstream: socket,
    cut,
    protocol,
    signal,
    headers: callHeaders(record),
    ...sessionLimits(shared),
    readsBinary,
    passesUnread: kind.isContent,
    readUpstream(text) {
      usage.begin(record, text)
      const suspected = mayHaveErrorMember(text) || redactor.hasCredential(text)
      if (!suspected && text.startsWith('{') && !text.includes(usage.sign)) return text
      const event = parse(text)
      // No client of the protocol reads messages that are not objects.
      if (!isObject(event)) return redactor.redactText(text)
      const { usage: before, units } = record
      usage.add(record, event)
      if (record.usage !== before || record.units !== units) report()
      return suspected ? redactor.redactJson(text, isFailure(event) ? 'error' : 'plain') : text
    },
    ...(readClient === undefined ? {} : { readClient }),
    begun() {
      record.firstEventAt ??= performance.now()
    },
    closeReason: (reason) => closeReason(redactor.redactText(reason)),
    settle({ outcome, error }) {
      // A session that was open shows that its upstream is available, however it ended.
      ticket.end(undefined)
      end({ status: 101, outcome, error })
    },
  }
}

/** Returns the function that reads a client's messages; undefined if all pass unchanged. */
function clientReader(
  kind: SessionKind,
  { router, references }: GatewayContext,
  { identity, model }: CallRecord,
  target: ResolvedTarget,
): RealtimeSession<unknown>['readClient'] {
  const check = modelListCheck(kind.places, router, identity)
  const checkStoredState = kind.checkStoredState?.(references)
  const { naming } = kind
  if (check === undefined && checkStoredState === undefined && naming === undefined) return undefined
  return (text, isBinary) => {
    try {
      check?.(text, isBinary)
      checkStoredState?.(text, isBinary)
      return { forward: naming?.writeLater(text, isBinary, model, target.model) ?? text }
    } catch (error) {
      if (error instanceof GatewayError) return kind.reject(error, text)
      throw error
    }
  }
}

/** Returns whether an event is `error`, or reports the failure of a response, a transcription or a list of tools. */
const isFailure = ({ type }: JsonObject): boolean => typeof type === 'string' && /^error$|\.failed$/.test(type)
