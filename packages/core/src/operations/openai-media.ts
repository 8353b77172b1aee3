import { isObject, type Json, type JsonObject, put } from '../base/json/json.ts'
import { parseObject } from '../base/json/parse.ts'
import { comment } from '../formats/chat/chunk.ts'
import { decodeError, errorObject } from '../formats/chat/error.ts'
import { decodeUsage as decodeChatUsage, isChatUsage } from '../formats/chat/wire.ts'
import type { MutableTap, StreamTap } from '../formats/codec.ts'
import type { BillableUnits, Usage } from '../formats/ir.ts'
import { checkJsonEnds, type SseEvent } from '../http/sse/sse.ts'

export interface TapEventsOptions {
  /** The event that ends a response, or one of several. */
  readonly done: string
  /** Number of such events in the stream. Default: 1. */
  readonly count?: number
  /** Returns the billed units of a complete response, in addition to tokens. */
  units?(event: JsonObject, seen: number): BillableUnits | undefined
}

/**
 * Creates a tap for the streams of OpenAI's images and audio: events with a `type`, the last of which ends the stream. Images are megabytes
 * of text, so only events that end a response are parsed.
 */
export function tapEvents({ done, count = 1, units: unitsOf }: TapEventsOptions): StreamTap {
  let seen = 0

  const read = (data: string): void => {
    const event = parseObject(data)
    if (event === undefined) return
    if (event.type === 'error' || (typeof event.error === 'object' && event.error !== null)) {
      tap.error = decodeError(200, event)
      return
    }
    tap.started = true
    if (event.type !== done) return
    seen++
    tap.ended = seen >= count
    tap.usage = decodeUsage(event.usage) ?? tap.usage
    tap.units = unitsOf?.(event, seen) ?? tap.units
  }
  const tap: MutableTap = {
    push({ event, data }) {
      tap.canSkipSimilar = false
      // Clients parse the data of every event.
      if (data === '') return false
      if (data === '[DONE]') return true
      checkJsonEnds(data)
      const type = event ?? typeIn(data)
      if (type === undefined || type === done || type === 'error') read(data)
      else tap.canSkipSimilar = tap.started = true
      return true
    },
    varyingMembers: varying,
    canSkipSimilar: false,
    started: false,
    ended: seen >= count,
    error: undefined,
    usage: undefined,
    units: undefined,
    finish: undefined,
    heartbeat: () => [comment],
    fail: (failure) => [
      { event: 'error', data: JSON.stringify({ type: 'error', error: errorObject(failure) } satisfies JsonObject) },
    ],
  }
  return tap
}

const varying: ReadonlySet<string> = new Set(['delta', 'audio'])

/** Reads the type of an event without a name. It is usually the first member. */
const typeIn = (data: string): string | undefined => /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/.exec(data)?.[1]

export const toEvent = (event: JsonObject & { type: string }): SseEvent => ({
  event: event.type,
  data: JSON.stringify(event),
})

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Decodes the usage of OpenAI's images and audio; undefined if it counts no tokens. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  // Mistral's transcriptions use the fields of chat.
  if (isChatUsage(value)) return decodeChatUsage(value)
  const read = count(value.input_tokens)
  const written = count(value.output_tokens)
  if (read === undefined && written === undefined) return undefined
  const usage: Usage = { input: { total: read ?? 0 }, output: { total: written ?? 0 } }
  const input = isObject(value.input_tokens_details) ? value.input_tokens_details : value.input_token_details
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : value.output_token_details
  if (isObject(input)) {
    put(usage.input, 'cacheRead', count(input.cached_tokens))
    put(usage.input, 'audio', count(input.audio_tokens))
    put(usage.input, 'image', count(input.image_tokens))
  }
  if (isObject(output)) {
    put(usage.output, 'audio', count(output.audio_tokens))
    put(usage.output, 'image', count(output.image_tokens))
  }
  return usage
}

/** Returns the seconds of audio, for models that are billed by them. */
export function decodeSeconds(usage: Json | undefined, duration: Json | undefined): BillableUnits | undefined {
  const seconds = (isObject(usage) ? count(usage.seconds) : undefined) ?? count(Number(duration ?? Number.NaN))
  return seconds === undefined ? undefined : { seconds }
}
