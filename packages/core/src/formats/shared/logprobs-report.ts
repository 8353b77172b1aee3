import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import type { Report } from '../ir.ts'
import { loss } from './report.ts'
import { reportUnknown, type Shape } from './shape.ts'

/**
 * Reports what a format cannot say of log probabilities, which the IR holds as chat writes them: nobody else has a place for those of a
 * refusal's text.
 *
 * @param known the members that arrive
 */
export function reportLogprobs(logprobs: Json | undefined, known: Shape, choice: number, report: Report): void {
  if (!isObject(logprobs)) return
  const at = `/choices/${choice}/logprobs`
  reportUnknown(logprobs, known, at, report)
  if (Array.isArray(logprobs.refusal) && logprobs.refusal.length > 0)
    report.add(loss(`${at}/refusal`, 'the log probabilities of a refusal have no place here'))
}
