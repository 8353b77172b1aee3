import type { SseEvent } from '../formats/codec.ts'

/** The wire form of one event, in one piece: some clients lose an event that is split over two reads. */
export function encodeSse({ event, data }: SseEvent): string {
  if (event === ':') return `: ${data}\n\n`
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`
}

export function encodeAllSse(events: readonly SseEvent[]): string {
  let out = ''
  for (const event of events) out += encodeSse(event)
  return out
}
