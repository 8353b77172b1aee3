import { settleWithin } from '../base/callbacks.ts'
import { type Signal, stopReason } from '../base/signal.ts'
import { isThenable } from '../base/thenable.ts'
import type { Logger } from '../config/config.ts'
import type { EstimatedBy } from '../config/plugin.ts'
import type { Tokenizer } from '../config/tokenizer.ts'
import type { ModelRequest } from '../formats/ir.ts'
import { estimateInput } from './estimate-request.ts'
import { loadTokenizer, pieces, tokensByCharacters } from './tokenizer.ts'

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
  for (const piece of pieces(text, charsAtOnce)) {
    if (counted + batchChars >= countedChars) break
    batch.push(piece)
    batchChars += piece.length
    if (batchChars >= charsAtOnce && !(await countBatch())) return undefined
  }
  if (batch.length > 0 && !(await countBatch())) return undefined
  return counted === 0 ? 0 : Math.round((tokens * text.length) / counted)
}
