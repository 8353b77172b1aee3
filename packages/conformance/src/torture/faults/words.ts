import type { Format } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { whole } from '../../base/upstream-answers.ts'

// The ordinary answers say "one two three"; here they say something else.

type Words = Readonly<Record<'one' | 'two' | 'three', string>>

const inOtherWords = (text: string, words: Words): string =>
  text.replace(/\b(one|two|three)\b/g, (word) => JSON.stringify(words[word as keyof Words]).slice(1, -1))

/** The events of a good stream with these words in it. */
export const eventsSaying = (format: Format, words: Words): string[] =>
  good[format].map((event) => inOtherWords(event, words))

/** A good whole answer with these words in it. */
export const bodySaying = (format: Format, words: Words): string => inOtherWords(JSON.stringify(whole[format]), words)

/** A text with these counts in place of three tokens in and three out. */
export const counting = (text: string, input: number, output: number): string =>
  text
    .replace(/"(prompt_tokens|input_tokens|promptTokenCount)":3\b/g, `"$1":${input}`)
    .replace(/"(completion_tokens|output_tokens|candidatesTokenCount)":3\b/g, `"$1":${output}`)
    .replace(/"(total_tokens|totalTokenCount)":6\b/g, `"$1":${input + output}`)
