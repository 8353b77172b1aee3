import { objectDialects } from '../../objects/dialects.ts'
import { defaultUpstream, notFound, safeSegment, upstreamOf } from '../../objects/find-object.ts'
import type { ObjectCall } from '../../objects/object-call.ts'
import type { ObjectUpstream } from '../../objects/send.ts'
import type { RoutedCall } from '../../route.ts'

/** A request about realtime calls. Calls belong to their creator by the same records as stored objects. */
export type CallControl = ObjectCall

export async function callControl(call: RoutedCall): Promise<CallControl> {
  const dialect = objectDialects.calls[call.codec.format]
  if (dialect === undefined) throw new TypeError(`Calls have no dialect for the format ${call.codec.format}`)
  const { record, snapshot, shared } = call
  const records = await snapshot.recordsOf(record.identity)
  return { call, kind: 'calls', dialect, records, isShared: shared.references.calls === 'pass' }
}

/** Records that a caller controls a call. Callers for whom nothing is stored can hang up only by closing their connection. */
export async function recordOwner({ records }: CallControl, upstream: string, id: string): Promise<void> {
  if (!records.isEnabled) return
  await records.objects.save('calls', { id, upstream, createdAt: Date.now() })
  await records.saveReceivedIds([{ kind: 'calls', id }])
}

/** A call that a caller may control. */
export interface FoundCall {
  /** The upstream of a call that the caller created or accepted. Undefined: a phone call that no caller has accepted yet. */
  readonly own: ObjectUpstream | undefined
}

/**
 * Finds a call that the caller may control: its own, or one that no caller of this gateway is known to own, such as an incoming phone call,
 * if the configuration passes unknown calls.
 *
 * @throws GatewayError `not_found` for any other id
 */
export async function findCall(control: CallControl, id: string): Promise<FoundCall> {
  const { kind, records, isShared } = control
  if (!safeSegment.test(id)) throw notFound(kind, id)
  const own = await records.objects.find(kind, id)
  if (own !== undefined) {
    const target = upstreamOf(control, own.upstream)
    if (target === undefined) throw notFound(kind, id)
    return { own: target }
  }
  if (!isShared || (await records.isOfOther(kind, id))) throw notFound(kind, id)
  return { own: undefined }
}

/** Returns the upstream of a call for requests that name no model. */
export const targetOf = (control: CallControl, { own }: FoundCall): ObjectUpstream => own ?? defaultUpstream(control)
