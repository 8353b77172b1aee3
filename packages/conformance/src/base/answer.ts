import { parseJson } from './json.ts'

/** What an answer says, in no format: what a client must find in it, whichever way it came. */
export interface Answer {
  readonly text: string
  readonly refusal: string
  readonly reasoning: string
  readonly tools: readonly { readonly name: string; readonly input: unknown }[]
  readonly usage?: Totals
}
/** Inclusive totals: cached input is in `input`, reasoning is in `output`. */
export interface Totals {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly reasoning?: number
}

/** Tool input as clients compare it: parsed where it is JSON, no text at all counts as no arguments. */
export const parsedInput = (text: string | undefined): unknown =>
  text === undefined || text.trim() === '' ? {} : (parseJson(text) ?? text)

/** The data of every event of a recorded stream, in order. Written for this file: it shares nothing with the gateway. */
export function eventData(stream: string): string[] {
  return stream
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .map((block) =>
      block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).replace(/^ /, ''))
        .join('\n'),
    )
    .filter((data) => data !== '')
}

export const withUsage = (answer: Omit<Answer, 'usage'>, usage: Totals | undefined): Answer =>
  usage === undefined ? answer : { ...answer, usage }
