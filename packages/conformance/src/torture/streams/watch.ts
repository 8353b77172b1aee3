import type { Agent } from 'node:http'
import type { Target } from '../check.ts'
import { type Ask, send } from '../client.ts'

/** Bytes that came, and when. */
export interface Piece {
  readonly at: number
  readonly text: string
}

/** What a client saw, by its own clock: `performance.now()`. */
export interface Watched {
  readonly sentAt: number
  /** NaN: none came. */
  readonly headAt: number
  readonly status: number
  readonly pieces: readonly Piece[]
  readonly broken: string | undefined
}

/** One exchange, with the time of everything that comes. Never rejects. */
export function watch(
  target: Target,
  ask: Ask,
  { agent = false, withinMs = 30_000 }: { agent?: Agent | false; withinMs?: number } = {},
): Promise<Watched> {
  return new Promise((resolve) => {
    const sentAt = performance.now()
    const pieces: Piece[] = []
    let headAt = Number.NaN
    let status = 0
    const outgoing = send(target, ask, agent)
    const finish = (broken?: string): void => {
      clearTimeout(timer)
      resolve({ sentAt, headAt, status, pieces, broken })
    }
    const timer = setTimeout(() => {
      finish(`no end within ${withinMs} ms`)
      outgoing.destroy()
    }, withinMs)
    outgoing.on('error', (error) => finish(error.message))
    outgoing.on('response', (incoming) => {
      headAt = performance.now()
      status = incoming.statusCode ?? 0
      incoming.setEncoding('utf8')
      incoming.on('data', (text: string) => pieces.push({ at: performance.now(), text }))
      incoming.on('error', (error) => finish(error.message))
      incoming.on('end', () => finish())
    })
  })
}
