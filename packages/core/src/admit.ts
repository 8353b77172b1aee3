import { estimateBody } from './estimate-body.ts'
import type { Json, JsonObject } from './formats/ir.ts'
import { isObject } from './formats/shared/reader.ts'
import { fieldsOf, type RequestBody } from './lanes/wire.ts'
import type { Admission, AdmitCall, ExpectedUse } from './plugin.ts'
import type { ResolvedTarget } from './router.ts'
import type { Counted, Ledger } from './settle.ts'
import { stopReason } from './signal.ts'
import type { TargetCall } from './targets.ts'
import { isThenable } from './thenable.ts'

type Admitted = Pick<TargetCall, 'shared' | 'inbound' | 'ledger' | 'request' | 'signal'>

/**
 * Asks the plugins whether a call may go on, one after the other. A promise only where a plugin answers with one. Throws what
 * a plugin refuses it with; what was admitted before that is settled with the call.
 */
export function letIn(call: Admitted, targets: readonly ResolvedTarget[]): void | Promise<void> {
  const { plugins } = call.shared
  let asked: AdmitCall | undefined
  for (let at = 0; at < plugins.length; at++) {
    const plugin = plugins[at]
    if (plugin?.admit === undefined) continue
    asked ??= askedOf(call, targets)
    const answer = plugin.admit(asked)
    if (isThenable(answer)) return goOn(call, asked, answer, at)
    note(call.ledger, answer)
  }
}

async function goOn(
  { shared: { plugins }, ledger, signal }: Admitted,
  asked: AdmitCall,
  first: PromiseLike<Admission | undefined>,
  at: number,
): Promise<void> {
  note(ledger, await first)
  for (const plugin of plugins.slice(at + 1)) note(ledger, await plugin.admit?.(asked))
  // Whoever left meanwhile is not called for.
  if (signal.aborted) throw stopReason(signal)
}

function note(ledger: Ledger, admission: Admission | undefined): void {
  if (admission === undefined || admission === null) return
  ledger.admissions ??= []
  ledger.admissions.push(admission)
}

function askedOf({ ledger, inbound, request }: Admitted, targets: readonly ResolvedTarget[]): AdmitCall {
  const { requestId, identity, operation, format, model, stream } = ledger
  let estimated: ReturnType<AdmitCall['estimate']> | undefined
  return {
    requestId,
    identity,
    operation,
    format,
    model,
    stream,
    startedAt: ledger.arrivedAt,
    ...(ledger.background === true && { background: true as const }),
    targets: targets.map(({ upstreamName: upstream, model }) => ({ upstream, model })),
    estimate() {
      estimated ??= ledger.expected === undefined ? estimate(ledger.counted, request) : ofExpected(ledger.expected)
      return estimated
    },
    header: (name) => inbound.header(name),
  }
}

const nothing = { input: 0, output: 0 } as const

const ofExpected = ({ input = 0, output = 0, units, least }: ExpectedUse): ReturnType<AdmitCall['estimate']> => ({
  input,
  output,
  ...(units === undefined ? {} : { units }),
  least: least ?? {},
})

function estimate(counted: Counted | undefined, request: RequestBody): ReturnType<AdmitCall['estimate']> {
  if (counted === undefined) return nothing
  const { output } = counted
  const input = request.outline?.tokens ?? estimateBody(request.value)
  if (output === undefined) return { input, output: 0 }
  const body = fieldsOf(request)
  const each = largestAt(body, output.fields)
  const times = largestAt(body, output.times ?? []) ?? 1
  return { input, output: each === undefined ? undefined : each * times }
}

function largestAt(body: JsonObject, paths: readonly string[]): number | undefined {
  let largest: number | undefined
  for (const path of paths) {
    const number = numberAt(body, path)
    if (number !== undefined) largest = Math.max(number, largest ?? number)
  }
  return largest
}

function numberAt(body: JsonObject, path: string): number | undefined {
  let at: Json | undefined = body
  for (const name of path.split('.')) at = isObject(at) ? at[name] : undefined
  return typeof at === 'number' ? at : undefined
}
