import type { Window } from '../token.ts'
import type { TokenMeter } from './token-meters.ts'

const billion = 1_000_000_000

/** `requests`, `input tokens`, for messages. */
export const wordsOf: Readonly<Record<TokenMeter['of'], string>> = {
  requests: 'requests',
  tokens: 'tokens',
  inputTokens: 'input tokens',
  outputTokens: 'output tokens',
  concurrent: 'calls at a time',
  money: 'money',
}

/** `per minute`, `per 10 s`. */
export const perWindow = (window: Window): string => (typeof window === 'number' ? `per ${window} s` : `per ${window}`)

/** An amount for people: money in whole units, with as many places as it needs up to six. */
export const amountText = (of: TokenMeter['of'], amount: number, currency: string): string =>
  of === 'money' ? `${plain(amount / billion)} ${currency}` : `${amount} ${wordsOf[of]}`

/** Without an exponent and without zeros at its end. */
export const plain = (amount: number): string => amount.toFixed(6).replace(/\.?0+$/, '')

/** `950ms`, `1.5s`, `2m5s`. */
export function waitText(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 100) / 10
  if (seconds < 60) return `${seconds}s`
  const whole = Math.ceil(ms / 1000)
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  return `${hours === 0 ? '' : `${hours}h`}${minutes}m${whole % 60}s`
}
