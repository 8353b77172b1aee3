import { StringDecoder } from 'node:string_decoder'
import type { Target } from '../check.ts'
import { type Ask, type ExchangeOptions, exchange } from '../client.ts'

/** Bytes that came, and when. */
export interface Piece {
  readonly at: number
  readonly text: string
}

/** Events at a client with its own clock: `performance.now()`. */
export interface Watched {
  readonly sentAt: number
  /** NaN: none came. */
  readonly headAt: number
  readonly status: number
  readonly pieces: readonly Piece[]
  readonly broken: string | undefined
}

/** One exchange, with the time of everything that comes. Never rejects. */
export async function watch(target: Target, ask: Ask, options: Omit<ExchangeOptions, 'onData'> = {}): Promise<Watched> {
  const decoder = new StringDecoder('utf8')
  const pieces: Piece[] = []
  const onData = (part: Buffer): void => void pieces.push({ at: performance.now(), text: decoder.write(part) })
  const sentAt = performance.now()
  const { status, headMs, broken } = await exchange(target, ask, { ...options, onData })
  return { sentAt, headAt: sentAt + headMs, status, pieces, broken }
}
