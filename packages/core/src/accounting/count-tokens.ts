import { isThenable, type Signal, settleWithin, stopReason } from '../base/async.ts'
import type { Json, JsonObject } from '../base/json/json.ts'
import type { Logger, Tokenizer } from '../config/config.ts'
import type { EstimatedBy } from '../config/finish-event.ts'
import type { MediaPart, ModelRequest, Part, Tool, Turn } from '../formats/ir.ts'

/** An estimated number of tokens. */
export interface Estimate {
  readonly tokens: number
  readonly by: EstimatedBy
}

/** Options of `estimateTokens`. */
export interface EstimateOptions {
  /** The configured tokenizer. Undefined: `gpt-tokenizer` if it is installed, else characters are counted. */
  readonly tokenizer: Tokenizer | undefined
  /** Counts texts in another thread, if the adapter can. */
  readonly countTexts?: CountTexts | undefined
  readonly logger: Logger
  readonly signal: Signal
  /** Milliseconds for which a promise of the tokenizer is awaited. */
  readonly callbackMs: number
}

/** Returns the sum of the tokens of texts; undefined if the tokenizer is not available. */
type CountTexts = (texts: readonly string[]) => Promise<number | undefined>

/** Characters that are counted, about 250,000 tokens of English. The count of a longer text is extrapolated. */
const countedChars = 1_000_000

/** Characters counted without a pause: a few milliseconds, after which other calls continue. */
const charsAtOnce = 32_768

/** Estimates the input tokens of a request without a call to a provider. */
export async function estimateTokens(
  request: Pick<ModelRequest, 'turns' | 'tools' | 'output'>,
  options: EstimateOptions,
): Promise<Estimate> {
  const { text, fixed } = estimateInput(request)
  const { tokens, by } = await countText(text, options)
  return { tokens: tokens + fixed, by }
}

/** Returns the value of the header that marks an estimate, in structured-field syntax. */
export const estimateHeader = ({ by }: Estimate): string => `tokens;by="${by}"`

async function countText(text: string, options: EstimateOptions): Promise<Estimate> {
  const { tokenizer, countTexts, logger, signal, callbackMs } = options
  const byCharacters: Estimate = { tokens: tokensByCharacters(text), by: 'characters' }
  if (tokenizer !== undefined) {
    try {
      const result = tokenizer(text)
      const wait = { name: 'tokenizer', ms: callbackMs, signal }
      const tokens = isThenable(result) ? await settleWithin(result, wait) : result
      if (Number.isFinite(tokens) && tokens >= 0) return { tokens: Math.round(tokens), by: 'custom' }
      logger.error(`modelgate: the configured tokenizer returned ${String(tokens)}; characters are counted instead`)
    } catch (error) {
      if (signal.aborted) throw stopReason(signal)
      logger.error('modelgate: the configured tokenizer failed; characters are counted instead', error)
    }
    return byCharacters
  }
  const tokens = (countTexts && (await countPieces(text, countTexts, signal))) ?? (await countHere(text, signal))
  return tokens === undefined ? byCharacters : { tokens, by: 'o200k_base' }
}

/** Counts in this thread. Other calls continue between batches. A short text is one batch and does not wait. */
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

/** Counts a text in batches of a few milliseconds. Resolves to undefined if the tokenizer is not available. */
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
 * Loads OpenAI's o200k_base from the optional peer `gpt-tokenizer`, on first use: about 2 MB and a tenth of a second. Resolves to
 * undefined if the peer is not installed.
 */
function loadTokenizer(): Promise<CountText | undefined> {
  loaded ??= load()
  return loaded
}
let loaded: Promise<CountText | undefined> | undefined

async function load(): Promise<CountText | undefined> {
  // A literal name within a `try`: bundlers include the package if it is installed, and continue if it is not.
  try {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    return (text) => countTokens(text, asText)
  } catch {
    return undefined
  }
}

/** Counts `<|endoftext|>` in a prompt as ordinary text, not as an error or one token. */
const asText = { disallowedSpecial: new Set<string>() }

/**
 * Splits a text into pieces that are fast to tokenize. Tokenizers need quadratic time for the length of a word, and one word can be the
 * whole text. So a run of letters, blanks or signs is split after 64 characters, which changes the count by at most one token. Other
 * splits follow the first blank after `size` characters (or any character after twice as many), so that a count can be paused.
 */
export function* splitForCounting(text: string, size: number): Generator<string> {
  let from = 0
  let letters = 0
  let blanks = 0
  let signs = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    // A character beyond ASCII may be of any kind.
    const wide = code > 127
    const kind = wide ? anything : (kinds[code] as number)
    letters = kind & letter ? letters + 1 : 0
    blanks = kind & blank ? blanks + 1 : 0
    signs = kind & sign ? signs + 1 : 0
    const long = letters >= longestRun || blanks >= longestRun || signs >= longestRun
    const full = i - from >= size && (kind === blank || i - from >= 2 * size)
    // Never between the two halves of a surrogate pair.
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

/** The kind of each ASCII character. Digits have none: tokenizers merge at most three of them. */
const kinds: readonly number[] = Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  if (/[A-Za-z]/.test(char)) return letter
  if (/\s/.test(char)) return blank
  return /\d/.test(char) ? 0 : sign
})

/** A request's input for an estimate: text for the tokenizer, and a fixed number of tokens for everything else. */
export interface EstimateInput {
  readonly text: string
  /** Tokens of everything but text: the structure of turns and tools, images, audio. */
  readonly fixed: number
}

/** Tokens of the structure of one turn (its role and delimiters), of one tool, and of the response's beginning. */
const turnTokens = 4
const toolTokens = 8
const responseTokens = 3

/**
 * Tokens of one medium, whose size in pixels, seconds or pages is unknown: about the largest image that providers charge, half a minute
 * of audio, a quarter of a minute of video, two pages of a document.
 */
const mediaTokens: Readonly<Record<MediaPart['kind'], number>> = {
  image: 1600,
  audio: 1000,
  video: 4500,
  document: 3000,
}
const smallImageTokens = 85

/** Longer texts without a blank are data (an image, a sealed value) and are not counted as words. */
const longestWord = 2000

/** Extracts the countable input of a request. Reasoning counts if its text is present; seals and ids are no input. */
export function estimateInput({
  turns,
  tools,
  output,
}: Pick<ModelRequest, 'turns' | 'tools' | 'output'>): EstimateInput {
  const texts: string[] = []
  let fixed = responseTokens
  const addJson = (value: Json): void => {
    const { text, media } = withoutData(value)
    texts.push(text)
    fixed += media * mediaTokens.image
  }
  const addMedia = (part: MediaPart): void => {
    const text = documentText(part)
    if (text !== undefined) texts.push(text)
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
    addJson(toolDescription(tool))
  }
  if (output?.format?.type === 'json' && output.format.schema !== undefined) addJson(output.format.schema)
  return { text: texts.join('\n'), fixed }
}

/** Returns the text of a text document; undefined for any other medium. */
function documentText({ source, mediaType }: MediaPart): string | undefined {
  if (source.type === 'text') return source.text
  if (source.type !== 'base64' || mediaType?.startsWith('text/') !== true) return undefined
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(source.data), (char) => char.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** Returns the part of a tool that the model receives. */
function toolDescription(tool: Tool): JsonObject {
  if (tool.type === 'native') return tool.value
  const { name, description } = tool
  const about: JsonObject = description === undefined ? { name } : { name, description }
  const form = tool.type === 'function' ? tool.schema : tool.grammar
  return form === undefined ? about : { ...about, parameters: form }
}

/** Returns JSON as text without data values, and the number of these as `media`. */
function withoutData(value: Json): { text: string; media: number } {
  let media = 0
  const text = JSON.stringify(value, (_key, inner: Json) => {
    if (typeof inner !== 'string' || inner.length <= longestWord || /\s/.test(inner)) return inner
    media++
    return ''
  })
  return { text, media }
}
