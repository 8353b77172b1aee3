import { settleWithin } from './callbacks.ts'
import type { Logger } from './config.ts'
import { estimateInput } from './estimate-input.ts'
import { loadTokenizer, pieces, type Tokenizer, tokensByCharacters } from './estimate-tokenizer.ts'
import type { ModelRequest } from './formats/ir.ts'
import { type Signal, stopReason } from './signal.ts'
import { isThenable } from './thenable.ts'

/** What an estimate was made with. */
export type EstimatedBy = 'o200k_base' | 'characters' | 'custom'

export interface Estimate {
  readonly tokens: number
  readonly by: EstimatedBy
}

export interface EstimateOptions {
  /** The configured tokenizer; default: the optional peer, or characters. */
  readonly tokenizer: Tokenizer | undefined
  readonly logger: Logger
  readonly signal: Signal
  /** For how long a promise of the tokenizer is awaited. */
  readonly callbackMs: number
}

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

async function countText(text: string, { tokenizer, logger, signal, callbackMs }: EstimateOptions): Promise<Estimate> {
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
  const count = await loadTokenizer()
  return count === undefined ? byCharacters : { tokens: await countPieces(text, count, signal), by: 'o200k_base' }
}

async function countPieces(text: string, count: (text: string) => number, signal: Signal): Promise<number> {
  let tokens = 0
  let counted = 0
  let pause = charsAtOnce
  for (const piece of pieces(text, charsAtOnce)) {
    if (counted >= countedChars) break
    tokens += count(piece)
    counted += piece.length
    if (counted < pause) continue
    pause = counted + charsAtOnce
    await new Promise((resolve) => setTimeout(resolve, 0))
    if (signal.aborted) throw stopReason(signal)
  }
  return counted === 0 ? 0 : Math.round((tokens * text.length) / counted)
}
