import type { CallRecord } from '../accounting/call-record.ts'
import type { GatewayError } from '../base/errors.ts'
import type { GatewayContext } from '../calls/call.ts'
import { sendNotice } from '../calls/plugin-hooks.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { RouteMatch } from '../operations/route.ts'

/** Bounds the path in a notice, which comes from the client. */
const maxPathChars = 500

/** What is known of a call that was rejected. */
type RejectedCall = Pick<CallRecord, 'requestId'> & Partial<Pick<CallRecord, 'identity' | 'startedAt'>>

/** Notifies the plugins of a call that ended before its model was known. */
export function notifyRejection(
  shared: Pick<GatewayContext, 'noticePlugins' | 'logger'>,
  { requestId, identity = null, startedAt }: RejectedCall,
  found: RouteMatch | null,
  { method, path }: Pick<Inbound, 'method' | 'path'>,
  { status }: Pick<Reply, 'status'>,
  { info, logMessage = info.message }: Pick<GatewayError, 'info'> & Partial<Pick<GatewayError, 'logMessage'>>,
): void {
  if (shared.noticePlugins.length === 0) return
  const isRouted = found !== null && found.allow === undefined && found.actions === undefined
  sendNotice(shared, {
    kind: 'call-rejected',
    requestId,
    identity,
    method: method.slice(0, maxPathChars),
    path: path.slice(0, maxPathChars),
    ...(isRouted ? { operation: found.route.operation } : {}),
    status,
    error: info.kind,
    message: logMessage,
    durationMs: startedAt === undefined ? 0 : performance.now() - startedAt,
  })
}
