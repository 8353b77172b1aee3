import { isThenable, type Signal, stopReason } from '../base/async.ts'
import { settleWithin } from '../base/callbacks.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Logger, Tokenizer } from '../config/config.ts'
import type { EstimatedBy } from '../config/plugin.ts'
import type { MediaPart, ModelRequest, Part, Tool, Turn } from '../formats/ir.ts'

export interface Estimate {
  readonly tokens: number
  readonly by: EstimatedBy
}

export interface EstimateOptions {
  /** The configured tokenizer; default: the optional peer, or characters. */
  readonly tokenizer: Tokenizer | undefined
  /** Counts texts in another thread. */
  readonly countTexts?: CountTexts | undefined
  readonly logger: Logger
  readonly signal: Signal
  /** For how long a promise of the tokenizer is awaited. */
  readonly callbackMs: number
}

/** Counts texts together; undefined: the tokenizer is not available. */
type CountTexts = (texts: readonly string[]) => Promise<number | undefined>

/** Characters that are counted; a longer text is taken to go on as it began. About 250,000 tokens of English. */
const countedChars = 1_000_000

/** Characters counted in one go: a few milliseconds, then other calls have their turn. */
const charsAtOnce = 32_768

/** How many tokens a request's input has, about: no provider is asked. */
export async function estimateTokens(
  request: Pick<ModelRequest, 'turns' | 'tools' | 'output'>,
  options: EstimateOptions,
): Promise<Estimate> {
  const { text, fixed } = estimateInput(request)
  const { tokens, by } = await countText(text, options)
  return { tokens: tokens + fixed, by }
}

/** The structured-field header that marks an estimate. */
export const estimateHeader = ({ by }: Estimate): string => `tokens;by="${by}"`

async function countText(text: string, options: EstimateOptions): Promise<Estimate> {
  const { tokenizer, countTexts, logger, signal, callbackMs } = options
  const byCharacters: Estimate = { tokens: tokensByCharacters(text), by: 'characters' }
  if (tokenizer !== undefined) {
    try {
      const answer = tokenizer(text)
      const wait = { name: 'tokenizer', ms: callbackMs, signal }
      const tokens = isThenable(answer) ? await settleWithin(answer, wait) : answer
      if (Number.isFinite(tokens) && tokens >= 0) return { tokens: Math.round(tokens), by: 'custom' }
      logger.error(`modelgate: the configured tokenizer answered ${String(tokens)}; characters are counted instead`)
    } catch (error) {
      if (signal.aborted) throw stopReason(signal)
      logger.error('modelgate: the configured tokenizer failed; characters are counted instead', error)
    }
    return byCharacters
  }
  const tokens = (countTexts && (await countPieces(text, countTexts, signal))) ?? (await countHere(text, signal))
  return tokens === undefined ? byCharacters : { tokens, by: 'o200k_base' }
}

/** With the tokenizer in this thread: other calls have their turn between batches. A short text is one batch, and waits for nothing. */
async function countHere(text: string, signal: Signal): Promise<number | undefined> {
  const count = await loadTokenizer()
  if (count === undefined) return undefined
  let isFirst = true
  const countBatch: CountTexts = async (texts) => {
    if (!isFirst) await new Promise((resolve) => setTimeout(resolve, 0))
    isFirst = false
    return texts.reduce((sum, piece) => sum + count(piece), 0)
  }
  return countPieces(text, countBatch, signal)
}

/** Counts a text in batches of a few milliseconds. Undefined if the tokenizer is not available. */
async function countPieces(text: string, count: CountTexts, signal: Signal): Promise<number | undefined> {
  let tokens = 0
  let counted = 0
  let batch: string[] = []
  let batchChars = 0
  const countBatch = async (): Promise<boolean> => {
    const more = await count(batch)
    if (signal.aborted) throw stopReason(signal)
    if (more === undefined) return false
    tokens += more
    counted += batchChars
    batch = []
    batchChars = 0
    return true
  }
  for (const piece of splitForCounting(text, charsAtOnce)) {
    if (counted + batchChars >= countedChars) break
    batch.push(piece)
    batchChars += piece.length
    if (batchChars >= charsAtOnce && !(await countBatch())) return undefined
  }
  if (batch.length > 0 && !(await countBatch())) return undefined
  return counted === 0 ? 0 : Math.round((tokens * text.length) / counted)
}

import { tokensByCharacters } from './estimate-body.ts'

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
export function* splitForCounting(text: string, size: number): Generator<string> {
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

/** What a request's input consists of, for an estimate: text that a tokenizer can count, and a number for the rest. */
export interface EstimateInput {
  readonly text: string
  /** Tokens of what is no text: the frame around turns and tools, images, sounds. */
  readonly fixed: number
}

/** The frame of one turn (its role and the marks around it), of one tool, and of the answer's beginning. */
const turnTokens = 4
const toolTokens = 8
const answerTokens = 3

/**
 * Tokens of one medium, whose size in pixels, seconds or pages is not known here: about the largest image that providers
 * charge, half a minute of sound, a quarter of a minute of film, two pages of a document.
 */
const mediaTokens: Readonly<Record<MediaPart['kind'], number>> = {
  image: 1600,
  audio: 1000,
  video: 4500,
  document: 3000,
}
const smallImageTokens = 85

/** Text without a blank that is longer than this is data (an image, a sealed value) and not read as words. */
const longestWord = 2000

/** Reasoning is counted as far as its text is there; seals and ids are not input. */
export function estimateInput({
  turns,
  tools,
  output,
}: Pick<ModelRequest, 'turns' | 'tools' | 'output'>): EstimateInput {
  const texts: string[] = []
  let fixed = answerTokens
  const addJson = (value: Json): void => {
    const { text, media } = withoutData(value)
    texts.push(text)
    fixed += media * mediaTokens.image
  }
  const addMedia = (part: MediaPart): void => {
    const words = wordsOf(part)
    if (words !== undefined) texts.push(words)
    else fixed += part.detail === 'low' && part.kind === 'image' ? smallImageTokens : mediaTokens[part.kind]
  }
  const addPart = (part: Part): void => {
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        texts.push(part.text)
        break
      case 'tool-call':
        texts.push(part.name, part.input)
        break
      case 'tool-result':
        for (const inner of part.parts) addPart(inner)
        break
      case 'media':
        addMedia(part)
        break
      case 'native':
        addJson(part.value)
    }
  }
  const addTurn = (turn: Turn): void => {
    fixed += turnTokens
    if (turn.name !== undefined) texts.push(turn.name)
    for (const part of turn.parts) addPart(part)
  }
  for (const turn of turns) addTurn(turn)
  for (const tool of tools?.list ?? []) {
    fixed += toolTokens
    addJson(shownOf(tool))
  }
  if (output?.format?.type === 'json' && output.format.schema !== undefined) addJson(output.format.schema)
  return { text: texts.join('\n'), fixed }
}

/** The text of a document that is nothing but text; undefined for any other medium. */
function wordsOf({ source, mediaType }: MediaPart): string | undefined {
  if (source.type === 'text') return source.text
  if (source.type !== 'base64' || mediaType?.startsWith('text/') !== true) return undefined
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(source.data), (char) => char.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** What the model is told of a tool. */
function shownOf(tool: Tool): JsonObject {
  if (tool.type === 'native') return tool.value
  const { name, description } = tool
  const about: JsonObject = description === undefined ? { name } : { name, description }
  const form = tool.type === 'function' ? tool.schema : tool.grammar
  return form === undefined ? about : { ...about, parameters: form }
}

/** JSON as text, with what is data and no words taken out; `media` is how many such values there were. */
function withoutData(value: Json): { text: string; media: number } {
  let media = 0
  const text = JSON.stringify(value, (_key, inner: Json) => {
    if (typeof inner !== 'string' || inner.length <= longestWord || /\s/.test(inner)) return inner
    media++
    return ''
  })
  return { text, media }
}
