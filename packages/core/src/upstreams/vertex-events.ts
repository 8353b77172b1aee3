import { createBlockCutter } from '../http/sse/blocks.ts'
import { eventTooLarge } from '../http/sse/decode.ts'

/** As the gateway's own default for one event. */
const eventBytes = 64 * 1024 * 1024

/** The platform's own event, in any of the ways to write it. Its usage stands in the format's events too. */
const own = /(?:^|[\r\n])(?:event: ?vertex_event[\r\n]|data: ?\{"type": ?"vertex_event")/

/**
 * A stream of Claude's without the events that the platform adds: clients that know the format's events only break on the
 * first of them. All other bytes pass as they are.
 */
export async function* withoutVertexEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const cutter = createBlockCutter()
  for await (const chunk of bytes) {
    const whole = cutter.push(chunk)
    if (cutter.heldBytes > eventBytes) throw eventTooLarge()
    const kept = whole === undefined ? undefined : drop(whole)
    if (kept !== undefined) yield kept
  }
  // Half an event: whoever reads it tells that it is cut.
  const rest = cutter.flush()
  if (rest !== undefined) yield rest
}

const reader = new TextDecoder('utf-8', { ignoreBOM: true })
const writer = new TextEncoder()

function drop(whole: Uint8Array): Uint8Array | undefined {
  const text = reader.decode(whole)
  if (!text.includes('vertex_event')) return whole
  const kept = text.split(/(?<=\r\n\r\n|\n\n|\r\r)/).filter((block) => !own.test(block))
  return kept.length === 0 ? undefined : writer.encode(kept.join(''))
}
