export { tokensByCharacters } from './estimate-text.ts'

type CountText = (text: string) => number

/**
 * OpenAI's o200k_base, from the optional peer `gpt-tokenizer`; undefined where that is not installed. Loaded by the first
 * count that needs it: some 2 MB and a tenth of a second.
 */
export function loadTokenizer(): Promise<CountText | undefined> {
  loaded ??= load()
  return loaded
}
let loaded: Promise<CountText | undefined> | undefined

async function load(): Promise<CountText | undefined> {
  // By name and within a try, so that bundlers take the package in where it is there and do without where it is not.
  try {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    return (text) => countTokens(text, asText)
  } catch {
    return undefined
  }
}

/** `<|endoftext|>` in a prompt is what somebody wrote: neither refused nor one token. */
const asText = { disallowedSpecial: new Set<string>() }

/**
 * A text in pieces that are quick to tokenize. Merging takes the square of a word's length, and one word can be the whole
 * text: after 64 letters (or blanks, or signs) on end there is a cut, which changes a count by a token at most. Other cuts
 * fall on the first blank after `size` characters (or after twice as many), so that a long text can be counted with pauses.
 */
export function* pieces(text: string, size: number): Generator<string> {
  let from = 0
  let letters = 0
  let blanks = 0
  let signs = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    // Beyond ASCII anything may be anything.
    const wide = code > 127
    const kind = wide ? anything : (kinds[code] as number)
    letters = kind & letter ? letters + 1 : 0
    blanks = kind & blank ? blanks + 1 : 0
    signs = kind & sign ? signs + 1 : 0
    const long = letters >= longestRun || blanks >= longestRun || signs >= longestRun
    const full = i - from >= size && (kind === blank || i - from >= 2 * size)
    // Never between the halves of one character.
    if ((long || full) && (code < 0xd800 || code > 0xdbff)) {
      yield text.slice(from, i + 1)
      from = i + 1
      letters = blanks = signs = 0
    }
  }
  if (from < text.length) yield text.slice(from)
}

const longestRun = 64
const letter = 1
const blank = 2
const sign = 4
const anything = letter | blank | sign

/** What each ASCII character is; digits are none of these, they are never merged beyond three. */
const kinds: readonly number[] = Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  if (/[A-Za-z]/.test(char)) return letter
  if (/\s/.test(char)) return blank
  return /\d/.test(char) ? 0 : sign
})
