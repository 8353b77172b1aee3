import type { Fault } from '../contract/script.ts'
import { type Piece, pieceOf } from './piece.ts'

/** The error of a requested fault. `listen` reproduces it on a socket. */
export class FaultError extends TypeError {
  override readonly name = 'FaultError'
  readonly fault: 'reset' | 'refuse'

  constructor(fault: 'reset' | 'refuse') {
    const code = fault === 'reset' ? 'ECONNRESET' : 'ECONNREFUSED'
    // The same shape as the error of undici's fetch, so that clients classify it alike in process and over a socket.
    super('fetch failed', {
      cause: Object.assign(new Error(fault === 'reset' ? 'read ECONNRESET' : 'connect ECONNREFUSED'), { code }),
    })
    this.fault = fault
  }
}

/** Waits; rejects with the signal's reason as soon as it is aborted. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = Number.isFinite(ms)
      ? setTimeout(() => {
          signal.removeEventListener('abort', leave)
          resolve()
        }, ms)
      : undefined
    signal.addEventListener('abort', leave, { once: true })
  })
}

const forever = Number.POSITIVE_INFINITY

export function faultNamed<T extends Fault['type']>(
  faults: readonly Fault[],
  type: T,
): Extract<Fault, { type: T }> | undefined {
  return faults.find((fault): fault is Extract<Fault, { type: T }> => fault.type === type)
}

/** Performs the faults that occur before the headers. */
export async function beforeHeaders(faults: readonly Fault[], signal: AbortSignal): Promise<void> {
  if (faultNamed(faults, 'refuse')) throw new FaultError('refuse')
  const delay = faultNamed(faults, 'delay')
  if (delay) await sleep(delay.ms, signal)
  const reset = faultNamed(faults, 'reset')
  if (reset && reset.after === undefined) throw new FaultError('reset')
  const stall = faultNamed(faults, 'stall')
  if (stall && stall.after === undefined) await sleep(forever, signal)
}

/** Returns true if a fault needs the body in pieces. */
export const needsPieces = (faults: readonly Fault[]): boolean =>
  faults.some((fault) => 'after' in fault || fault.type === 'slow' || fault.type === 'endless-line')

export interface PlaybackContext {
  readonly faults: readonly Fault[]
  readonly paceMs: number
  readonly signal: AbortSignal
  /** Returns the format's failure after a number of pieces, for the fault that requests it. */
  readonly failure: (fault: Extract<Fault, { type: 'error-event' }>, sent: number) => Iterable<Piece>
  /** Called when a fault ends the body. */
  readonly onFault: () => void
}

/** Plays pieces at the requested pace, with the requested faults among them. */
export async function* playPieces(pieces: Iterable<Piece>, playing: PlaybackContext): AsyncGenerator<Uint8Array> {
  const { faults, paceMs, signal } = playing
  const slow = faultNamed(faults, 'slow')?.ms ?? 0
  let sent = 0
  for (const piece of pieces) {
    for (const fault of faults) {
      if (!('after' in fault) || fault.after !== sent) continue
      const end = yield* performFault(fault, piece, sent, playing)
      if (end) return
    }
    const wait = slow + (piece.paced ? paceMs : 0)
    if (wait > 0) await sleep(wait, signal)
    yield piece.bytes
    sent++
  }
  // With `after` at the end or beyond, faults without an end of their own still happen.
  for (const fault of faults) {
    if ('after' in fault && (fault.after ?? -1) >= sent && (fault.type === 'reset' || fault.type === 'stall')) {
      yield* performFault(fault, pieceOf(''), sent, playing)
    }
  }
}

/** Performs a fault; returns true if nothing follows. */
async function* performFault(
  fault: Fault,
  next: Piece,
  sent: number,
  playing: PlaybackContext,
): AsyncGenerator<Uint8Array, boolean> {
  switch (fault.type) {
    case 'reset':
      playing.onFault()
      throw new FaultError('reset')
    case 'stall':
      await sleep(forever, playing.signal)
      return true
    case 'cut':
      playing.onFault()
      return true
    case 'cut-event':
      playing.onFault()
      yield next.bytes.subarray(0, Math.ceil(next.bytes.length / 2))
      return true
    case 'garbage':
      yield pieceOf(`data: ${fault.data ?? '{"broken": '}\n\n`).bytes
      return false
    case 'error-event':
      playing.onFault()
      for (const piece of playing.failure(fault, sent)) {
        const wait = faultNamed(playing.faults, 'slow')?.ms ?? 0
        if (wait > 0) await sleep(wait, playing.signal)
        yield piece.bytes
      }
      return true
    case 'endless-line':
      playing.onFault()
      yield* endlessLine(fault.bytes ?? forever)
      return true
    default:
      return false
  }
}

function* endlessLine(bytes: number): Generator<Uint8Array> {
  const block = pieceOf('a'.repeat(65_536)).bytes
  let left = bytes
  const head = pieceOf('data: {"endless":"').bytes
  yield head.subarray(0, Math.min(left, head.length))
  for (left -= head.length; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length))
}
