import { fromBase64 } from '../base/base64.ts'
import type { Prompt, PromptMedia, PromptTurn } from '../contract/prompt.ts'

/**
 * Answers plain requests that any model can follow, so that a client can verify that its words arrive: repeats given words
 * (`Reply with exactly: …`, from the user or the system prompt), recalls a code word that was told or is in a PDF
 * (`What is the code word?`), and names the colour of a picture (`What colour …?`). Returns undefined for other prompts.
 */
export function answerPlainRequest(prompt: Prompt, last: PromptTurn | undefined, rest: string): string | undefined {
  const media = last?.media ?? []
  if (/\bwhat colou?r\b/i.test(rest)) {
    const seen = media.map(pictureColour).find((colour) => colour !== undefined)
    if (seen !== undefined) return seen
  }
  if (/\bwhat is the code word\b/i.test(rest)) return codeWord(prompt) ?? 'I do not know a code word.'
  return wordsIn(rest) ?? wordsIn(prompt.system)
}

const wordsIn = (text: string): string | undefined => /\breply with exactly: *([^\n]+)/i.exec(text)?.[1]?.trim()

/** Returns the last code word in the prompt. */
function codeWord(prompt: Prompt): string | undefined {
  const reported = [prompt.system, ...prompt.turns.flatMap(({ text, media }) => [text, ...media.map(pdfText)])].join(
    '\n',
  )
  return [...reported.matchAll(/\bcode word is (\w+)/gi)].at(-1)?.[1]
}

/** Returns the text of a PDF with uncompressed content. */
function pdfText({ mediaType, data, text }: PromptMedia): string {
  if (text !== undefined) return text
  if (mediaType !== 'application/pdf' || data === undefined) return ''
  const file = new TextDecoder('latin1').decode(fromBase64(data) ?? new Uint8Array())
  return [...file.matchAll(/\(([^()\\]*)\)\s*Tj/g)].map(([, words]) => words).join(' ')
}

const colours: Readonly<Record<string, readonly [red: number, green: number, blue: number]>> = {
  Red: [255, 0, 0],
  Green: [0, 255, 0],
  Blue: [0, 0, 255],
  Yellow: [255, 255, 0],
  White: [255, 255, 255],
  Black: [0, 0, 0],
}

/** Names the first colour in the palette of a PNG. Other pictures would have to be decompressed. */
function pictureColour({ mediaType, data }: PromptMedia): string | undefined {
  const bytes = mediaType === 'image/png' && data !== undefined ? fromBase64(data) : undefined
  if (bytes === undefined) return undefined
  const at = new TextDecoder('latin1').decode(bytes).indexOf('PLTE')
  if (at < 0) return undefined
  const own = [...bytes.subarray(at + 4, at + 7)]
  const distance = (colour: readonly number[]): number =>
    colour.reduce((sum, value, index) => sum + (value - (own[index] ?? 0)) ** 2, 0)
  return Object.entries(colours).sort(([, one], [, other]) => distance(one) - distance(other))[0]?.[0]
}
