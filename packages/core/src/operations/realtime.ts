import { letIn } from '../admit.ts'
import { arrange } from '../arrange.ts'
import type { AttemptLog } from '../attempt.ts'
import { authenticate } from '../auth.ts'
import { authorized, ownHeaders } from '../call-headers.ts'
import { monotonicNow } from '../clock.ts'
import type { GatewayConfig } from '../config.ts'
import { GatewayError } from '../errors.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { isObject } from '../formats/shared/reader.ts'
import { wireCodecOf } from '../formats/wire.ts'
import type { Ticket } from '../health/health.ts'
import { isCallable, resting } from '../health/resting.ts'
import { newId } from '../ids.ts'
import type { Inbound } from '../inbound.ts'
import type { RequestBody } from '../lanes/wire.ts'
import { announce, headersFor } from '../observers.ts'
import { mayHoldError } from '../redaction/answer-members.ts'
import { redactorOf } from '../redaction/redactor.ts'
import { admissionHeaders, callHeaders, errorReply } from '../reply.ts'
import { retryScope } from '../retry.ts'
import type { Match } from '../routes.ts'
import { type Counted, type Ledger, settle } from '../settle.ts'
import { createCanceller, type Signal } from '../signal.ts'
import type { Shared } from '../targets.ts'
import { isMeant, traitsOf } from '../traits.ts'
import { readUpstreamError, redactError, unreachable } from '../upstream-error.ts'
import { callUrl } from '../upstreams/call-url.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { betaHeader, checkHandshake, chooseProtocol, readQuery } from './realtime-handshake.ts'
import { clientMessageCheck } from './realtime-messages.ts'
import type { Dial, RealtimeOpening, RealtimeSession } from './realtime-types.ts'
import { addUsage, usageOfResponse } from './realtime-usage.ts'

export interface RealtimeCall<Socket> {
  readonly auth: GatewayConfig['auth']
  readonly shared: Shared
  readonly found: Match
  readonly inbound: Inbound
  readonly dial: Dial<Socket>
  readonly signal: Signal
  /** Called once when the session is over, or was refused. */
  readonly release: () => void
}

/** A WebSocket is either there soon or not at all: nobody computes an answer first. */
const dialMs = 30_000
/** A close frame holds 125 bytes, two of which are the code. */
const reasonBytes = 123

/**
 * Opens a session: authenticate → read the query → dial the model's targets in order until one accepts. Only then is the
 * client to be accepted, so that everything that is wrong is told it in HTTP. Never throws.
 */
export async function openRealtime<Socket>(call: RealtimeCall<Socket>): Promise<RealtimeOpening<Socket>> {
  const { shared, inbound, found, signal } = call
  const { route } = found
  const ledger: Ledger = {
    requestId: newId('req_'),
    operation: route.operation,
    format: route.format,
    startedAt: performance.now(),
    arrivedAt: Date.now(),
    identity: null,
    model: '',
    stream: true,
    losses: [],
    attempts: [],
    lane: 'wire',
  }
  try {
    const identity = authenticate(call.auth, inbound, route, shared.limits.callbackMs, signal)
    ledger.identity = identity instanceof Promise ? await identity : identity
    checkHandshake(inbound)
    const protocol = chooseProtocol(inbound)
    const { model, queryFor } = readQuery(inbound)
    ledger.model = model
    ledger.counted = speech
    const { socket, upstream, ticket } = await dialTargets(call, ledger, queryFor)
    return { ok: true, session: sessionOf(call, ledger, upstream, socket, protocol, ticket) }
  } catch (cause) {
    call.release()
    const error =
      cause instanceof GatewayError
        ? cause
        : new GatewayError('internal', 'The gateway failed to open the session.', { cause })
    const { kind } = error.info
    if (kind === 'internal') shared.logger.error(`modelgate: request ${ledger.requestId} failed`, error.cause ?? error)
    if (kind === 'upstream_auth')
      shared.logger.warn(
        `modelgate: upstream '${ledger.upstream}' refused the configured credentials (request ${ledger.requestId})`,
        error.cause,
      )
    const reply = errorReply(error, wireCodecOf(route.format), ledger.requestId)
    Object.assign(reply.headers, ledger.upstream === undefined ? admissionHeaders(ledger) : callHeaders(ledger))
    const outcome = signal.aborted && kind === 'cancelled' ? 'aborted' : 'failed'
    if (ledger.model !== '') settle(ledger, { status: reply.status, outcome, error }, shared.plugins, shared.logger)
    return { ok: false, reply }
  }
}

/** Each target once, in the plan's order; those that rest are passed over while there are others. */
async function dialTargets<Socket>(
  { shared, inbound, dial, signal }: RealtimeCall<Socket>,
  ledger: Ledger,
  queryFor: (model: string) => string,
): Promise<{ socket: Socket; upstream: Upstream; ticket: Ticket }> {
  const { health } = shared
  const asked = { request: nothing, inbound, ledger }
  announce({ shared, ...asked })
  const plan = shared.router.plan(ledger.model, ledger.identity)
  await letIn({ shared, ...asked, signal }, plan.targets)
  const meant = plan.targets.filter((target) => isMeant(target, () => traitsOf(asked), shared.logger))
  const { latencies } = health
  const order = arrange(meant, plan.strategy, { latencies, stream: true, affinity: undefined }).flat()
  const offering = order.filter(({ upstream }) => upstream.realtime !== undefined)
  const callable = offering.filter((target) => isCallable(health.standing(target, ledger.identity)))
  if (offering.length > 0 && callable.length === 0)
    throw resting(
      ledger.model,
      offering.map((target) => health.standing(target, ledger.identity)),
    )
  let failure: GatewayError | undefined
  for (const target of callable) {
    const { upstream, upstreamName, model } = target
    if (ledger.attempts.length >= plan.retry.attempts) break
    ledger.upstream = upstreamName
    ledger.upstreamModel = model
    const ticket = health.enter(target, undefined, ledger.identity)
    const log: AttemptLog = {
      upstream: upstreamName,
      model,
      reason: ledger.attempts.length === 0 ? 'first' : 'fallback',
      startedMs: performance.now() - ledger.startedAt,
      ...(ticket.key === undefined ? {} : { key: ticket.key }),
    }
    ledger.attempts.push(log)
    const startedAt = monotonicNow()
    const base = callUrl(upstream, upstream.realtime as string, undefined, model)
    const url = `${base}${base.includes('?') ? '&' : '?'}${queryFor(model)}`
    const { messageBytes } = sessionLimits(shared)
    try {
      const own = { ...headersOf(upstream, ticket.key, inbound), ...headersFor({ shared, inbound, ledger }, log) }
      const headers = await bounded(signal, (signal) =>
        authorized(upstream, { method: 'GET', url, headers: own, body: undefined }, signal),
      )
      const dialled = await bounded(signal, (signal) => dial({ url, headers, messageBytes, signal }))
      log.latencyMs = monotonicNow() - startedAt
      if ('socket' in dialled) {
        log.status = 101
        ticket.answered(undefined, true)
        return { socket: dialled.socket, upstream, ticket }
      }
      const { refusal } = dialled
      log.status = refusal.status
      const id = refusal.header('x-request-id')
      if (id !== undefined) log.upstreamRequestId = redactorOf(upstream).text(id)
      if (refusal.status >= 400) throw await readUpstreamError(refusal, wireCodecOf(ledger.format), upstream)
      refusal.discard()
      throw new GatewayError('upstream_bad_response', 'The upstream did not upgrade the connection to a WebSocket.')
    } catch (cause) {
      failure = redactError(unreachable(cause), upstream)
      log.error = failure.info.kind
      log.latencyMs ??= monotonicNow() - startedAt
      ticket.over(failure, failure.hints?.waitMs)
      if (signal.aborted || retryScope(failure) === 'none') break
    }
  }
  throw failure ?? notOffered(ledger)
}

/** Nobody knows how much will be said. */
const speech: Counted = { output: { fields: [] } }

/** A session is asked for in its URL alone. */
const nothing: RequestBody = { bytes: new Uint8Array(0), text: '', members: [], value: {} }

/** One attempt, given up when the client leaves, the gateway stops or the upstream does not answer in time. */
async function bounded<T>(outer: Signal, run: (signal: Signal) => Promise<T>): Promise<T> {
  const inner = createCanceller()
  let late = false
  const abort = (): void => inner.abort()
  outer.addEventListener('abort', abort)
  const timer = setTimeout(() => {
    late = true
    abort()
  }, dialMs)
  try {
    if (outer.aborted) abort()
    return await run(inner)
  } catch (cause) {
    if (outer.aborted)
      throw outer.reason instanceof GatewayError
        ? outer.reason
        : new GatewayError('cancelled', 'The client left before the session was open.')
    if (late)
      throw new GatewayError('upstream_timeout', `The upstream did not open the session within ${dialMs / 1000} s.`)
    throw cause
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', abort)
  }
}

const notOffered = ({ model, operation }: Ledger): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The model '${model.slice(0, 100)}' does not do this (${operation}): its upstream offers no such endpoint.`,
    { param: 'model' },
  )

function headersOf(upstream: Upstream, key: number | undefined, inbound: Inbound): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of upstream.passHeaders) {
    const value = inbound.header(name)
    if (value !== undefined) headers[name] = value
  }
  const beta = betaHeader(inbound)
  if (beta !== undefined) headers['openai-beta'] = beta
  return { ...headers, ...ownHeaders(upstream, key) }
}

const sessionLimits = ({ limits }: Shared) => ({
  idleMs: limits.realtimeIdleMs,
  clientStallMs: limits.clientStallMs,
  heartbeatMs: limits.heartbeatMs,
  messageBytes: limits.realtimeMessageBytes,
})

function sessionOf<Socket>(
  { shared, signal, release }: RealtimeCall<Socket>,
  ledger: Ledger,
  upstream: Upstream,
  socket: Socket,
  protocol: string | undefined,
  ticket: Ticket,
): RealtimeSession<Socket> {
  let settled = false
  const checkClient = clientMessageCheck(shared.router, ledger.identity)
  const redactor = redactorOf(upstream)
  return {
    upstream: socket,
    protocol,
    signal,
    headers: callHeaders(ledger),
    ...sessionLimits(shared),
    passesUnread: (message) => message.length >= longDelta && isDelta(message),
    readUpstream(text) {
      const suspected = mayHoldError(text) || redactor.suspects(text)
      if (!suspected && text.startsWith('{') && !text.includes('"response.done"')) return text
      const event = parse(text)
      // Clients of the protocol read no such message.
      if (!isObject(event)) return redactor.text(text)
      const usage = event.type === 'response.done' ? usageOfResponse(event) : undefined
      if (usage !== undefined) ledger.usage = addUsage(ledger.usage, usage)
      return suspected ? redactor.json(text, isFailure(event) ? 'error' : 'plain') : text
    },
    ...(checkClient === undefined ? {} : { checkClient }),
    begun() {
      ledger.firstEventAt ??= performance.now()
    },
    closeReason: (reason) => cut(redactor.text(reason), reasonBytes),
    settle({ outcome, error }) {
      if (settled) return
      settled = true
      // A session that was open has shown that its upstream is there, however it ended.
      ticket.over(undefined)
      settle(ledger, { status: 101, outcome, error }, shared.plugins, shared.logger)
      release()
    },
  }
}

/** A delta from this length on, in bytes, is sound: decoding it would cost more than passing it on. */
const longDelta = 2048
const decoder = new TextDecoder()

/** Whether a message is a piece of content, by its type, which stands at its beginning. */
const isDelta = (message: Uint8Array): boolean =>
  /"type"\s*:\s*"[\w.]+\.delta"/.test(decoder.decode(message.subarray(0, 256)))

/** `error`, and what failed of an answer, a transcription or a list of tools. */
const isFailure = ({ type }: JsonObject): boolean => typeof type === 'string' && /^error$|\.failed$/.test(type)

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

const encoder = new TextEncoder()

/** The longest beginning of a text that has at most so many bytes, without half a character at its end. */
function cut(text: string, bytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(bytes))
  return text.slice(0, read)
}
