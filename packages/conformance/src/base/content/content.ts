import { parseJson } from '../json.ts'

/** Content of a response, independent of the format: clients of every format must receive it. */
export interface ResponseContent {
  readonly text: string
  readonly refusal: string
  readonly reasoning: string
  readonly tools: readonly { readonly name: string; readonly input: unknown }[]
  readonly usage?: UsageTotals
}
/** Inclusive totals: `input` includes cached input, `output` includes reasoning. */
export interface UsageTotals {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly reasoning?: number
}

/** Parses tool input for comparison: JSON is parsed, an empty text means no arguments. */
export const parsedInput = (text: string | undefined): unknown =>
  text === undefined || text.trim() === '' ? {} : (parseJson(text) ?? text)

/** Returns the data of every event of a recorded stream, in order. It deliberately shares no code with the gateway. */
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

export const withUsage = (answer: Omit<ResponseContent, 'usage'>, usage: UsageTotals | undefined): ResponseContent =>
  usage === undefined ? answer : { ...answer, usage }
