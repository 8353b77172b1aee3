import type { AttemptResult } from './attempt.ts'
import type { OnLoss } from './config.ts'
import type { Reply } from './inbound.ts'
import { asJsonArray } from './lanes/json-array.ts'
import type { Lane } from './lanes/lane.ts'
import { lossHeader } from './losses.ts'
import { relay } from './relay.ts'
import { relayBytes } from './relay-bytes.ts'
import { idHeaders, json, streamHeaders } from './reply.ts'
import { settle } from './settle.ts'
import type { TargetCall } from './targets.ts'

export interface AnswerCall extends TargetCall {
  /** Called when a streamed answer is over. */
  readonly release: () => void
  /** A streamed answer is framed as one JSON array instead of events. */
  readonly jsonArray: boolean
}

/** A good answer on its way to the client. The books are closed once it is over. */
export function sendAnswer(call: AnswerCall, lane: Pick<Lane, 'report'>, policy: OnLoss, result: AttemptResult): Reply {
  const { shared, ledger } = call
  const losses = policy === 'ignore' ? undefined : lossHeader(lane.report.losses)
  const headers: Record<string, string> = idHeaders(ledger.requestId)
  if (losses !== undefined) headers['modelgate-loss'] = losses
  const end = (ending: Parameters<typeof settle>[1]): void => settle(ledger, ending, shared.plugins, shared.logger)
  ledger.firstEventAt = performance.now()
  if (result.kind === 'whole') {
    const { usage, units, body, contentType = json } = result.answer
    if (usage !== undefined) ledger.usage = usage
    if (units !== undefined) ledger.units = units
    end({ status: 200, outcome: 'finished' })
    headers['content-type'] = contentType
    return { status: 200, headers, body }
  }
  if (result.kind === 'bytes') {
    const body = relayBytes(result.pump, shared.limits.idleMs, call.signal, ({ outcome, error }) => {
      call.release()
      if (outcome !== 'finished') result.abort()
      end({ status: 200, outcome, ...(error === undefined ? {} : { error }) })
    })
    return { status: 200, headers: { ...headers, ...result.headers }, body }
  }
  const { pump, abort, begun } = result
  const stream = call.jsonArray ? asJsonArray(result.stream) : result.stream
  const { heartbeatMs, idleMs } = shared.limits
  const body = relay(pump, stream, { heartbeatMs, idleMs, begun }, call.signal, ({ outcome, error }) => {
    call.release()
    if (outcome !== 'finished') abort()
    if (stream.state.usage !== undefined) ledger.usage = stream.state.usage
    if (stream.state.units !== undefined) ledger.units = stream.state.units
    end({ status: 200, outcome, ...(error === undefined ? {} : { error }) })
  })
  if (call.jsonArray) headers['content-type'] = json
  return { status: 200, headers: { ...streamHeaders, ...headers }, body }
}
