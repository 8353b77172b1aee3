import { createParser } from 'eventsource-parser'
import { GatewayError } from '../errors.ts'
import type { SseEvent } from '../formats/codec.ts'

/** Bytes in, whole server-sent events out, at any split of the bytes. */
export interface SseDecoder {
  push(chunk: Uint8Array): SseEvent[]
  pushText(text: string): SseEvent[]
  /** Ends the input. An event that lacks only its closing blank line is still given out; half an event is not. */
  end(): SseEvent[]
}

/**
 * @param maxEventChars cap of one unfinished event; beyond it `push` throws `upstream_bad_response`.
 */
export function createSseDecoder(maxEventChars: number): SseDecoder {
  const text = new TextDecoder()
  let events: SseEvent[] = []
  let overflow = false
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: ({ event, data }) => events.push(event === undefined ? { data } : { event, data }),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') overflow = true
    },
  })
  const take = (): SseEvent[] => {
    if (overflow) throw tooLarge()
    const taken = events
    events = []
    return taken
  }
  const pushText = (piece: string): SseEvent[] => {
    parser.feed(piece)
    return take()
  }
  return {
    push: (chunk) => pushText(text.decode(chunk, { stream: true })),
    pushText,
    end() {
      parser.feed(`${text.decode()}\n\n`)
      return take().filter(({ data }) => isWhole(data))
    },
  }
}

export const tooLarge = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent a stream event that is too large.')

/** An event cut in its middle holds broken JSON; a bare word in brackets is the one other thing streams end with. */
function isWhole(data: string): boolean {
  if (data.startsWith('[') && data.endsWith(']')) return true
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}
