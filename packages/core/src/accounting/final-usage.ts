import { errorKinds } from '../base/error-kinds.ts'
import type { FinishEvent, UsageBasis } from '../config/plugin.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import type { BillableUnits, Usage } from '../formats/ir.ts'
import type { CallRecord } from './call-record.ts'
import { estimateBody } from './estimate-json.ts'

/** What a call took of a model, and where the counts come from; undefined: no model was at work, or nothing is counted in tokens. */
export function finalUsage(
  record: CallRecord,
  outcome: FinishEvent['outcome'],
): { readonly usage: Usage; readonly basis: UsageBasis } | undefined {
  const { usage, counted, firstEventAt, finish } = record
  if (usage !== undefined && (outcome === 'finished' || finish !== undefined || counted === undefined))
    return { usage, basis: 'reported' }
  if (counted === undefined) return undefined
  // Tokens that the upstream sends later are not counted here, nor is a session that reported no usage.
  if (finish !== undefined && wireCodecOf(record.format).pending?.includes(finish)) return undefined
  if (record.background === true && outcome !== 'finished') return undefined
  if (usage === undefined && firstEventAt !== undefined && record.said === undefined) return undefined
  // Nothing came back, but an upstream that was left alone with the request is likely to have read it.
  if (firstEventAt === undefined && usage === undefined)
    return isAbandoned(record) ? { usage: estimated(record, 0), basis: 'partial' } : undefined
  const said = record.said?.() ?? 0
  if (usage === undefined)
    return { usage: estimated(record, said), basis: outcome === 'finished' ? 'estimated' : 'partial' }
  // Counts that come while an answer is written are behind it.
  const { raw: _stale, ...known } = usage
  const output = { ...known.output, total: Math.max(known.output.total, said) }
  const input = known.input.total > 0 ? known.input : { total: inputOf(record) }
  return { usage: { ...known, input, output }, basis: 'partial' }
}

const estimated = (record: CallRecord, said: number): Usage => ({
  input: { total: inputOf(record) },
  output: { total: said },
})

const inputOf = ({ body, tokens = 0 }: CallRecord): number => (body === undefined ? tokens : estimateBody(body))

/** No answer came, but an upstream had the request. */
export const isAbandoned = ({ firstEventAt, attempts }: CallRecord): boolean =>
  firstEventAt === undefined &&
  attempts.some(({ error }) => error !== undefined && errorKinds[error].mayBeBilled === true)

/** What was counted beside tokens: by the operation itself, or within the usage. */
export function unitsOf({ units, usage }: CallRecord): BillableUnits | undefined {
  const { raw } = usage ?? {}
  const beside = raw === undefined ? undefined : wireCodecOf(raw.format).unitsIn?.(raw.value)
  return beside === undefined ? units : { ...units, ...beside }
}
