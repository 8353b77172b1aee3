import type { CallRecord } from '../accounting/call-record.ts'
import { estimateRequest } from '../accounting/estimate-request.ts'
import { CallbackError, isThenable, settleWithin, stopReason } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import type { Admission, AdmitCall, ExpectedUse } from '../config/admission.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import type { Plugin } from '../config/plugin.ts'
import { isValidHeader } from '../http/inbound.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import type { TargetCall } from './call.ts'

export type Admitted = Pick<TargetCall, 'shared' | 'inbound' | 'record' | 'request' | 'signal'>

/** The work of a batch: its estimated tokens do not follow from the request that creates it. */
export interface AdmittedWork {
  readonly batch: NonNullable<AdmitCall['batch']>
  readonly input: number
  readonly output: number | undefined
}

/**
 * Calls the `admit` hooks of the plugins in turn. Returns a promise only if a plugin does. Throws the error of the plugin that rejects the
 * call; admissions of earlier plugins are settled with the call.
 */
export function admitCall(
  call: Admitted,
  targets: readonly ResolvedTarget[],
  work?: AdmittedWork,
): void | Promise<void> {
  const { plugins } = call.shared
  let event: AdmitCall | undefined
  for (let at = 0; at < plugins.length; at++) {
    const plugin = plugins[at]
    if (plugin?.admit === undefined) continue
    event ??= createAdmitCall(call, targets, work)
    const admission: unknown = plugin.admit(event)
    if (isThenable(admission)) return admitRemaining(call, event, admission, at)
    recordAdmission(call.record, admission, plugin)
  }
}

async function admitRemaining(
  call: Admitted,
  event: AdmitCall,
  first: PromiseLike<unknown>,
  at: number,
): Promise<void> {
  const { shared, record, signal } = call
  const rest = shared.plugins.slice(at)
  for (const plugin of rest) {
    const admission: unknown = plugin === rest[0] ? first : plugin.admit?.(event)
    recordAdmission(record, isThenable(admission) ? await awaitAdmission(call, admission, plugin) : admission, plugin)
  }
  // The client disconnected during admission.
  if (signal.aborted) throw stopReason(signal)
}

/** Awaits an admission. One that resolves too late still holds its reservation, so it is settled with the call as well. */
async function awaitAdmission(
  { shared, record, signal }: Admitted,
  pending: PromiseLike<unknown>,
  { name }: Plugin,
): Promise<unknown> {
  let onLate: (admission: unknown) => void = () => {}
  const delayed = new Promise<unknown>((resolve) => {
    onLate = resolve
  })
  try {
    return await settleWithin(pending, {
      name: `admit of plugin '${name}'`,
      ms: shared.limits.callbackMs,
      signal,
      onLateValue: onLate,
    })
  } catch (error) {
    if (error instanceof CallbackError || signal.aborted) {
      const settle = async (event: FinishEvent): Promise<void> => {
        const admission = await delayed
        if (isAdmission(admission)) await admission.settle?.(event)
      }
      record.admissions ??= []
      record.admissions.push({ settle })
    }
    throw error
  }
}

/** Records an admission, for the headers of the response and for `settle`. Throws for any other value: the call is rejected. */
function recordAdmission(record: CallRecord, admission: unknown, { name }: Plugin): void {
  if (admission === undefined || admission === null) return
  if (!isAdmission(admission))
    throw new TypeError(
      `admit of plugin '${name}' returned ${typeNameOf(admission)}: return undefined or an admission such as { settle(event) {} } to admit the call, and throw a GatewayError to reject it`,
    )
  record.admissions ??= []
  if (admission.defer !== undefined) deferringPlugins.set(admission, name)
  const { settle } = admission
  const bad = invalidHeader(admission)
  if (bad === undefined) {
    record.admissions.push(admission)
    return
  }
  // The error must not carry the header either. The reservation is released.
  if (settle !== undefined) record.admissions.push({ settle: (event) => admission.settle?.(event) })
  throw new TypeError(`admit of plugin '${name}' returned the header '${bad}', which cannot be sent`)
}

/** Returns the name of a header of an admission that cannot be sent; undefined if all can. */
export const invalidHeader = ({ headers }: Admission): string | undefined =>
  headers === undefined
    ? undefined
    : Object.entries(headers)
        .find((header) => !isValidHeader(header))?.[0]
        .slice(0, 100)

/** The plugins of admissions that can be deferred. */
const deferringPlugins = new WeakMap<Admission, string>()

/** Returns the name of the plugin whose admission can be deferred. */
export const deferringPlugin = (admission: Admission): string | undefined => deferringPlugins.get(admission)

const isAdmission = (value: unknown): value is Admission =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Creates the event of a call for `admit`. */
export function createAdmitCall(
  { record, inbound, request }: Admitted,
  targets: readonly ResolvedTarget[],
  work: AdmittedWork | undefined,
): AdmitCall {
  const { requestId, identity, operation, format, model, stream } = record
  let estimated: ReturnType<AdmitCall['estimate']> | undefined
  return {
    requestId,
    identity,
    operation,
    format,
    model,
    stream,
    startedAt: record.arrivedAt,
    ...(record.background === true && { background: true as const }),
    ...(record.settledLater === true && { settledLater: true as const }),
    ...(work && { batch: work.batch }),
    targets: targets.map(({ upstreamName: upstream, model }) => ({ upstream, model })),
    estimate() {
      if (work !== undefined) return { input: work.input, output: work.output }
      estimated ??=
        record.expected === undefined
          ? estimateRequest(record.tokenCounting, request)
          : estimateFromExpected(record.expected)
      return estimated
    },
    header: (name) => inbound.header(name),
  }
}

const estimateFromExpected = ({
  input = 0,
  output = 0,
  units,
  least,
}: ExpectedUse): ReturnType<AdmitCall['estimate']> => ({
  input,
  output,
  ...(units === undefined ? {} : { units }),
  least: least ?? {},
})
