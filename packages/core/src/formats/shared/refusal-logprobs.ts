import type { Json, Report } from '../ir.ts'
import { isObject } from './reader.ts'
import { loss } from './report.ts'

/** Only the format that the IR's log probabilities are modelled on has a place for those of a refusal's text. */
export function reportRefusalLogprobs(logprobs: Json | undefined, choice: number, report: Report): void {
  if (isObject(logprobs) && Array.isArray(logprobs.refusal) && logprobs.refusal.length > 0)
    report.add(loss(`/choices/${choice}/logprobs/refusal`, 'the log probabilities of a refusal have no place here'))
}
