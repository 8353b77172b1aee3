import { createBlockCutter } from '../http/sse/blocks.ts'
import { eventTooLarge } from '../http/sse/sse.ts'

/** Default limit of one event in the gateway. */
const eventBytes = 64 * 1024 * 1024

/** The event `vertex_event` in all its notations. Its usage is repeated in the events of the format. */
const vertexEvent = /(?:^|[\r\n])(?:event: ?vertex_event[\r\n]|data: ?\{"type": ?"vertex_event")/

/**
 * Removes the events that Vertex AI adds to a stream of Claude. Clients that expect only the format's events fail on them. All other bytes
 * pass unchanged.
 */
export async function* withoutVertexEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const cutter = createBlockCutter()
  for await (const chunk of bytes) {
    const blocks = cutter.push(chunk)
    if (cutter.heldBytes > eventBytes) throw eventTooLarge()
    const kept = blocks === undefined ? undefined : dropVertexEvents(blocks)
    if (kept !== undefined) yield kept
  }
  // An incomplete event passes too: the decoder of the stream reports that it is cut off.
  const incomplete = cutter.flush()
  if (incomplete !== undefined) yield incomplete
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

function dropVertexEvents(blocks: Uint8Array): Uint8Array | undefined {
  const text = decoder.decode(blocks)
  if (!text.includes('vertex_event')) return blocks
  const kept = text.split(/(?<=\r\n\r\n|\n\n|\r\r)/).filter((block) => !vertexEvent.test(block))
  return kept.length === 0 ? undefined : encoder.encode(kept.join(''))
}
