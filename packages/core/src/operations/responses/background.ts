import { type CallRecord, createCallRecord, settle } from '../../accounting/call-record.ts'
import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import type { GatewayContext } from '../../calls/call.ts'
import type { WireCodec } from '../../formats/codec.ts'
import type { Usage } from '../../formats/ir.ts'
import { type DeferredReservation, deferAdmission, resumeAdmission } from '../deferred-admissions.ts'
import type { CallerRecords, ForwardedResponse } from './records.ts'
import { withinStoreTimeout } from './store-timeout.ts'

// A background response goes on at its upstream after the call that began it. Its admission is deferred as that of a batch is:
//
//   response.created, or the whole response   beginBackground ──> the reservation is stored with the response's record
//   its last event, in the same call          endInCall ──> the call itself is settled with the usage
//   GET, cancel, DELETE, previous_response_id settleBackground ──> an event of its own, perhaps in another process
//   in addition, until it is settled          the gateway polls the upstream (poll-background.ts), and settles it in the same way
//
// The record is saved without the reservation before it is settled: a process that ends in between leaves it counted, and nothing is
// counted twice. Two processes at the same moment settle with the same `requestId`, which meters count once.

/** What is stored about a background response until it is settled. */
interface BackgroundWork {
  readonly requestId: string
  readonly model: string
  readonly upstream: string
  readonly upstreamModel: string
  readonly startedAt: number
  readonly reservations: readonly DeferredReservation[]
  /** Estimated output tokens that the client received before its call ended. Absent: the call has not ended. */
  readonly relayedOutput?: number
}

type Shared = Pick<GatewayContext, 'plugins' | 'logger' | 'polledByOwner'>

const runningStates: readonly unknown[] = ['queued', 'in_progress']

/** Returns whether a response is still being generated. */
export const isRunning = ({ status }: JsonObject): boolean => runningStates.includes(status)

/** Defers the admissions of a call whose response goes on in the background. Returns what must be stored with the record of the response. */
export function beginBackground({ logger }: Shared, record: CallRecord): string {
  const { requestId, model, upstream = '', upstreamModel = '', arrivedAt: startedAt, admissions = [] } = record
  const reservations = admissions.flatMap((one) => (one.defer === undefined ? [] : deferAdmission(logger, one)))
  // The others are settled at the end of the call.
  record.admissions = admissions.filter(({ defer }) => defer === undefined)
  record.deferred = true
  const work: BackgroundWork = { requestId, model, upstream, upstreamModel, startedAt, reservations }
  return JSON.stringify(work)
}

/** Notes what the client of a call that has ended received, and returns what must be stored. */
export const withRelayedOutput = (work: string, relayedOutput: number): string =>
  JSON.stringify({ ...parseWork(work), relayedOutput } satisfies BackgroundWork)

/** Returns whether a token's budget or limit waits for the usage of a response. */
export const isReserved = (work: string | undefined): boolean =>
  work !== undefined && parseWork(work).reservations.length > 0

/** Takes the admissions of a call back, to be settled when it ends: its response has ended, or could not be stored. */
export function endInCall({ plugins, logger }: Shared, record: CallRecord, work: string): void {
  record.deferred = undefined
  record.admissions = [...(record.admissions ?? []), ...resumeAll(plugins, logger, parseWork(work))]
}

const resumeAll = (plugins: Shared['plugins'], logger: Shared['logger'], { reservations }: BackgroundWork) =>
  reservations.flatMap((one) => resumeAdmission(plugins, logger, one))

/** A call that finds that a background response has ended. */
export interface FindingCall {
  readonly shared: Shared
  readonly record: Pick<CallRecord, 'identity' | 'format'>
  readonly records: CallerRecords
}

/** Settlements that are running in this process: of two calls about a response that has ended, one settles it, and both wait. */
const settlements = new Map<string, Promise<void>>()

/**
 * Settles a background response if it has ended and is not settled yet. Rejects if the store fails: a later call tries again. A response
 * without usage, such as a cancelled one, is only settled after the end of the call that began it, which may still deliver its output.
 */
export async function settleBackground(
  call: FindingCall,
  codec: Pick<WireCodec, 'tapResponse'>,
  id: string,
  stored: ForwardedResponse,
  response: JsonObject,
): Promise<void> {
  if (stored.work === undefined || isRunning(response)) return
  if (!hasKnownUse(codec, response) && parseWork(stored.work).relayedOutput === undefined) return
  const key = JSON.stringify([stored.owner, id])
  let settlement = settlements.get(key)
  if (settlement === undefined) {
    settlement = settleEnded(call, codec, id, { ...stored, work: stored.work }, response).finally(() =>
      settlements.delete(key),
    )
    settlements.set(key, settlement)
  }
  await settlement
}

/** A response that failed without usage cost nothing. */
const hasKnownUse = ({ tapResponse }: Pick<WireCodec, 'tapResponse'>, response: JsonObject): boolean =>
  response.status === 'failed' || tapResponse(response).usage !== undefined

async function settleEnded(
  call: FindingCall,
  { tapResponse }: Pick<WireCodec, 'tapResponse'>,
  id: string,
  { work, ...settled }: ForwardedResponse & { readonly work: string },
  response: JsonObject,
): Promise<void> {
  const { records } = call
  try {
    await withinStoreTimeout(records.save(id, settled, []))
  } catch (cause) {
    throw new GatewayError('internal', 'The usage of the background response could not be stored. Try again later.', {
      cause,
    })
  }
  // The response no longer counts as one of the caller's that have not ended.
  call.shared.polledByOwner.get(settled.owner)?.ends.get(id)?.()
  const { usage } = tapResponse(response)
  settleWork(call, work, usage, typeof response.status === 'string' ? response.status : 'completed')
}

/** Settles a response whose record its client deleted before it was settled. */
export const settleDeleted = (call: Omit<FindingCall, 'records'>, work: string): void =>
  settleWork(call, work, undefined, 'cancelled')

/** @param status of the response at the upstream */
function settleWork(
  { shared, record: finding }: Omit<FindingCall, 'records'>,
  text: string,
  usage: Usage | undefined,
  status: string,
): void {
  const { plugins, logger } = shared
  const work = parseWork(text)
  const { relayedOutput = 0 } = work
  const hasFailed = status === 'failed'
  const elapsedMs = Math.max(0, Date.now() - work.startedAt)
  const startedAt = performance.now() - elapsedMs
  const record: CallRecord = {
    ...createCallRecord(work.requestId, 'generate', finding.format),
    arrivedAt: work.startedAt,
    startedAt,
    identity: finding.identity,
    model: work.model,
    upstream: work.upstream,
    upstreamModel: work.upstreamModel,
    upstreamFormat: finding.format === 'responses' ? 'responses' : undefined,
    lane: 'wire',
    usage,
    finish: status,
    // A response that failed without usage cost nothing. Another one without usage did: its reservation stays charged.
    firstEventAt: hasFailed && usage === undefined ? undefined : startedAt,
    admissions: [...resumeAll(plugins, logger, work)],
  }
  // Charged are the output that the client received and, for the input and for output that it did not receive, the reservation.
  if (usage === undefined && !hasFailed && relayedOutput > 0) {
    record.tokenCounting = {}
    const estimateOutput = (): number => relayedOutput
    record.estimateOutput = estimateOutput
    record.openResponses = 1
  }
  const outcome = hasFailed ? 'failed' : status === 'cancelled' ? 'aborted' : 'finished'
  settle(record, { status: 200, outcome }, plugins, logger)
}

/** Parses what `beginBackground` returned. Stores are shared and repaired by hand, so the text may be damaged. */
function parseWork(text: string): BackgroundWork {
  const value = parseObject(text)
  if (typeof value?.requestId !== 'string' || !Array.isArray(value.reservations))
    throw new GatewayError('internal', 'The record of a background response is damaged.')
  return value as unknown as BackgroundWork
}
