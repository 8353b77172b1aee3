// Timestamps in the events of the paced upstream, and how a client reads them.

/** Returns microseconds by a clock that all processes of the machine share. */
export const nowMicros = () => Number(process.hrtime.bigint() / 1000n)

export const stampDigits = 16
const mark = Buffer.from('"content":"')

/**
 * Calls `onEvent` for each timestamp that a chunk contains completely. @param {Buffer} chunk @param {(sentAt: number)
 * => void} onEvent
 */
export function eachStamp(chunk, onEvent) {
  for (let at = chunk.indexOf(mark); at >= 0; at = chunk.indexOf(mark, at + mark.length)) {
    const from = at + mark.length
    if (from + stampDigits <= chunk.length) onEvent(Number(chunk.toString('latin1', from, from + stampDigits)))
  }
}
