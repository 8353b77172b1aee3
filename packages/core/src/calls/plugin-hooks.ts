import { isThenable } from '../base/async.ts'
import { observe, observedValue, typeNameOf } from '../base/callbacks.ts'
import type { GatewayNotice } from '../config/notices.ts'
import { isValidHeader } from '../http/inbound.ts'
import type { AttemptLog, GatewayContext, TargetCall } from './call.ts'

type StartedCall = Pick<TargetCall, 'shared' | 'inbound' | 'record' | 'request'>

/** Notifies the plugins that a call begins. */
export function notifyRequest({ shared, inbound, record, request }: StartedCall): void {
  for (const plugin of shared.plugins) {
    if (plugin.onRequest === undefined) continue
    const { requestId, identity, operation, format, model, stream } = record
    observe(
      shared.logger,
      'onRequest',
      () =>
        plugin.onRequest?.({
          requestId,
          identity,
          operation,
          format,
          model,
          stream,
          startedAt: record.arrivedAt,
          body: request.value,
          header: (name) => inbound.header(name),
        }),
      plugin,
    )
  }
}

/** Sends a notice to the plugins that observe notices. */
export function sendNotice(
  { noticePlugins, logger }: Pick<GatewayContext, 'noticePlugins' | 'logger'>,
  notice: GatewayNotice,
): void {
  for (const plugin of noticePlugins) observe(logger, 'onNotice', () => plugin.onNotice?.(notice), plugin)
}

const traceHeaderNames = ['traceparent', 'tracestate'] as const

/** Returns headers for an upstream call in addition to the upstream's own: the client's trace context, and what plugins add. */
export function additionalHeaders(
  { shared, inbound, record }: Pick<TargetCall, 'shared' | 'inbound' | 'record'>,
  log: AttemptLog,
): Readonly<Record<string, string>> | undefined {
  let headers: Record<string, string> | undefined
  for (const name of traceHeaderNames) {
    const value = inbound.header(name)
    // `tracestate` has no meaning without its parent.
    if (value === undefined || !isValidHeader([name, value])) break
    headers = { ...headers, [name]: value }
  }
  for (const plugin of shared.plugins) {
    if (plugin.onUpstream === undefined) continue
    const { upstream, model, reason } = log
    const attempt = record.attempts.length
    const event = { requestId: record.requestId, upstream, model, attempt, reason }
    const added = observedValue(shared.logger, 'onUpstream', () => checkedHeaders(plugin.onUpstream?.(event)), plugin)
    if (added === undefined) continue
    // The state belongs to the client's parent, which a plugin has replaced.
    if (added.traceparent !== undefined && headers?.tracestate !== undefined) {
      const { tracestate: _other, ...rest } = headers
      headers = rest
    }
    headers = { ...headers, ...added }
  }
  return headers
}

/** Returns a copy of headers that can be sent: a getter of the plugin must not fail later. Throws a TypeError for anything else. */
function checkedHeaders(added: unknown): Readonly<Record<string, string>> | undefined {
  // `observedValue` reports a promise.
  if (added === undefined || added === null || isThenable(added)) return added as undefined
  if (typeof added !== 'object' || Array.isArray(added))
    throw new TypeError(`it returned ${typeNameOf(added)}: return headers such as { 'x-trace': '1' }, or undefined`)
  const headers = { ...added } as Readonly<Record<string, string>>
  const bad = Object.entries(headers).find((header) => !isValidHeader(header))
  if (bad !== undefined) throw new TypeError(`the header '${bad[0].slice(0, 100)}' cannot be sent`)
  return headers
}
