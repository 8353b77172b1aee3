import { connect } from 'node:net'
import { sleep } from '../../base/upstream-responses.ts'
import type { Target } from '../check.ts'

/** Bytes to send, a pause, or the moment from which the response is timed. */
export type UploadStep = string | Uint8Array | { readonly restMs: number } | 'mark' | 'end'

export interface UploadResult {
  /** 0 without a response. */
  readonly status: number
  /** All received bytes. */
  readonly raw: string
  /**
   * Milliseconds from the mark to the first byte of the response; NaN if there was none, or it came before the mark.
   */
  readonly answerMs: number
  /** True if the response came before the mark. */
  readonly early: boolean
  readonly sentBytes: number
  /** True if the gateway closed the connection. */
  readonly closed: boolean
  readonly tookMs: number
}

/** Milliseconds allowed for the rest of a response. */
const restOfAnswerMs = 50

/**
 * Sends a raw request with backpressure, so that gigabytes can be generated on the fly. It continues to send after the
 * response, like clients that do not read while sending, until the steps or the connection end.
 *
 * @param withinMs time limit after the last step for a response or progress
 */
export function uploadSlowly(target: Target, steps: Iterable<UploadStep>, withinMs = 5000): Promise<UploadResult> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(target.origin)
    const begun = performance.now()
    const parts: Buffer[] = []
    let marked = Number.NaN
    let answered = Number.NaN
    let closed = false
    let over = false
    let sent = false
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    let wake = (): void => {}
    const finish = (): void => {
      if (over) return
      over = true
      clearTimeout(timer)
      wake()
      socket.destroy()
      const raw = Buffer.concat(parts).toString('latin1')
      resolve({
        // An interim response (100) does not count.
        status: Number(/HTTP\/1\.[01] ([2-5]\d\d)/.exec(raw)?.[1] ?? 0),
        raw,
        answerMs: answered >= marked ? answered - marked : Number.NaN,
        early: answered < marked,
        sentBytes: socket.bytesWritten,
        closed,
        tookMs: performance.now() - begun,
      })
    }
    let timer: NodeJS.Timeout | undefined
    /** Everything was sent: waits for the response, and then only for its rest. */
    const wait = (): void => {
      sent = true
      clearTimeout(timer)
      timer = setTimeout(finish, Number.isNaN(answered) ? withinMs : restOfAnswerMs)
    }
    socket.setNoDelay(true)
    socket.on('data', (part: Buffer) => {
      parts.push(part)
      if (Number.isNaN(answered) && !part.subarray(0, 12).toString('latin1').startsWith('HTTP/1.1 100'))
        answered = performance.now()
      if (sent && !Number.isNaN(answered)) wait()
    })
    socket.on('drain', () => wake())
    socket.on('error', () => {})
    const onEnd = (): void => {
      closed = true
      finish()
    }
    // A half-close counts: a rejected client need not send on.
    socket.on('end', onEnd).on('close', onEnd)
    /** Returns true as long as the gateway reads. */
    const isReading = (): Promise<boolean> =>
      new Promise((resume) => {
        const stuck = setTimeout(() => resume(false), withinMs)
        wake = () => {
          clearTimeout(stuck)
          resume(true)
        }
      })
    const play = async (): Promise<void> => {
      for (const step of steps) {
        if (over || socket.destroyed) return
        if (step === 'mark') marked = performance.now()
        else if (step === 'end') socket.end()
        else if (typeof step === 'object' && 'restMs' in step) await sleep(step.restMs)
        else if (socket.write(step)) {
          // Lets the other clients of this process run between two pieces.
          await new Promise<void>((next) => setImmediate(next))
        } else if (!(await isReading())) break
      }
      if (!over) wait()
    }
    void play()
  })
}

const pieceBytes = 64 * 1024

/** Yields this many bytes in pieces: the middle of a JSON string that never ends. */
export function* filler(size: number, byte = 0x61): Generator<Uint8Array> {
  const piece = Buffer.alloc(pieceBytes, byte)
  for (let left = size; left > 0; left -= pieceBytes) yield left >= pieceBytes ? piece : piece.subarray(0, left)
}

/** Yields pieces as chunks of a chunked body, without its end. */
export function* chunked(pieces: Iterable<Uint8Array | string>): Generator<string | Uint8Array> {
  for (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    yield Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  }
}

/** Returns a raw request head with the target's credential for its first pair. */
export function headOf(
  target: Target,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'POST',
): string {
  const [pair] = target.pairs
  const all = { host: new URL(target.origin).host, ...(pair === undefined ? {} : target.headers(pair)), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
