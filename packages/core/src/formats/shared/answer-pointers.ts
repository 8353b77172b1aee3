/**
 * Where the parts of an answer's IR stand in a format's own answers, for loss reports; `{n}` is the number of the choice.
 * Fields of a choice are keyed `choice.finish`; those that are not named stand in the choice under their own name.
 */
export interface AnswerPointers {
  readonly choice: string
  readonly usage: string
  readonly serviceTier: string
  readonly 'choice.finish': string
  readonly 'choice.sequence': string
  readonly 'choice.explanation': string
  readonly 'choice.logprobs': string
  readonly [field: `choice.${string}`]: string
}

/** Codecs name what they lose of an answer as the IR does, or by the pointer its decoder noted: both come out as the latter. */
export function answerPath(path: string, pointers: AnswerPointers): string {
  const [, first, second = '', third] = path.split('/')
  if (first === 'usage' || first === 'serviceTier') return pointers[first] + path.slice(first.length + 1)
  if (first !== 'choices') return path
  const rest = path.slice('/choices/'.length + second.length)
  const known = third === undefined ? undefined : pointers[`choice.${third}`]
  const found = known === undefined ? pointers.choice + rest : known + rest.slice(1 + (third ?? '').length)
  return found.replace('{n}', second)
}
