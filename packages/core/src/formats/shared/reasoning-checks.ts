import type { JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, ReasoningCheck, ReasoningPart, Report, Turn } from '../ir.ts'
import { loss } from './report.ts'

/** Where an answer of either format that has them holds the checks. */
export const checksField = 'input_transformations'

/** Reports checks to clients whose format has no place for them. */
export function reportChecks(checks: readonly ReasoningCheck[] | undefined, client: string, report: Report): void {
  for (const check of checks ?? []) report.add(lostCheck(check, `${client} does not say so`))
}

/** The loss of one check. */
export const lostCheck = ({ at = '', reason, isShown }: ReasoningCheck, why: string) =>
  loss(
    at,
    `earlier reasoning ${isShown ? 'failed a check' : 'was not shown to the model'} (${reason}); ${why}`,
    'unsupported',
    isShown ? 'note' : 'warn',
  )

/** The parts of reasoning in a request, in order. */
export const reasoningIn = ({ turns }: { readonly turns: readonly Turn[] }): ReasoningPart[] =>
  turns.flatMap(({ parts }) => parts.filter((part): part is ReasoningPart => part.type === 'reasoning'))

/** The part that a check is about. */
export const checkedPart = ({ place }: ReasoningCheck, request: ModelRequest): ReasoningPart | undefined =>
  place === undefined ? undefined : reasoningIn(request).find((part) => part.at === place)

/** The entries of a list that `read` understands, as checks, and the others, to be kept as they are. */
export function readChecks(
  list: readonly JsonObject[],
  read: (entry: JsonObject, index: number) => ReasoningCheck | undefined,
): { checks: ReasoningCheck[]; others: JsonObject[] } {
  const checks: ReasoningCheck[] = []
  const others: JsonObject[] = []
  for (const [index, entry] of list.entries()) {
    const check = read(entry, index)
    if (check === undefined) others.push(entry)
    else checks.push(check)
  }
  return { checks, others }
}
