import type { CallRecord } from '../../accounting/call-record.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Usage } from '../../formats/ir.ts'
import { addBilled } from '../../formats/shared/billed.ts'

/** The part of a call record that holds the usage of a session. */
export type SessionUsage = Pick<CallRecord, 'usage' | 'units' | 'openResponses'>

/** How the usage of a session is read from the events of its upstream. */
export interface UsageReader {
  /** A text that every event with usage contains. Other events are not parsed. */
  readonly sign: string
  /** Counts the response that an event begins, if it does. Called for every event, so it does not parse. */
  begin(record: SessionUsage, text: string): void
  /** Adds the usage of an event, if it has any, and counts the response that it ends. */
  add(record: SessionUsage, event: JsonObject): void
}

/**
 * Returns the counter of responses that begin with an event. A text within a string has no match, because its quotes are escaped.
 *
 * @param sign a plain text that every match contains; searching for it is faster
 */
const beginsWith =
  (type: RegExp, sign: string) =>
  (record: SessionUsage, text: string): void => {
    if (text.includes(sign) && type.test(text)) record.openResponses = (record.openResponses ?? 0) + 1
  }

/** Counts the end of a response. Servers may leave out the event of its beginning. */
const end = (record: SessionUsage): void => {
  record.openResponses = Math.max(0, (record.openResponses ?? 0) - 1)
}

const count = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0

const part = (object: JsonObject, name: string): JsonObject => {
  const value = object[name]
  return isObject(value) ? value : {}
}

/** Returns usage in OpenAI's notation. */
function openaiUsage(usage: JsonObject): Usage {
  const input = part(usage, 'input_token_details')
  const output = part(usage, 'output_token_details')
  const cached = part(input, 'cached_tokens_details')
  const cachedMedia = { audio: count(cached.audio_tokens), image: count(cached.image_tokens) }
  return {
    ...(cachedMedia.audio + cachedMedia.image > 0 && { billed: { cached: cachedMedia } }),
    input: {
      total: count(usage.input_tokens),
      cacheRead: count(input.cached_tokens),
      audio: count(input.audio_tokens),
      image: count(input.image_tokens),
    },
    output: {
      total: count(usage.output_tokens),
      reasoning: count(output.reasoning_tokens),
      audio: count(output.audio_tokens),
    },
  }
}

/** The usage of responses. That of input transcriptions is billed to another model. */
export const responseUsage: UsageReader = {
  sign: '"response.done"',
  begin: beginsWith(/"type"\s*:\s*"response\.created"/, '"response.created"'),
  add(record, event) {
    if (event.type !== 'response.done') return
    end(record)
    const { usage } = part(event, 'response')
    if (isObject(usage)) record.usage = addUsage(record.usage, openaiUsage(usage))
  },
}

const transcribed = 'conversation.item.input_audio_transcription'

/** The usage of transcriptions: tokens, or seconds of audio. */
export const transcriptionUsage: UsageReader = {
  sign: 'input_audio_transcription.',
  begin: beginsWith(/"type"\s*:\s*"input_audio_buffer\.committed"/, '"input_audio_buffer.committed"'),
  add(record, { type, usage }) {
    if (type !== `${transcribed}.completed` && type !== `${transcribed}.failed`) return
    end(record)
    if (!isObject(usage)) return
    if (usage.type === 'duration')
      record.units = { ...record.units, seconds: (record.units?.seconds ?? 0) + count(usage.seconds) }
    else record.usage = addUsage(record.usage, openaiUsage(usage))
  },
}

/** Adds the usage of one more response. */
export function addUsage(sum: Usage | undefined, next: Usage): Usage {
  const usage: Usage = { input: added(sum?.input, next.input), output: added(sum?.output, next.output) }
  const [before, more] = [sum?.billed?.cached, next.billed?.cached]
  const { audio = 0, image = 0 } = before ?? {}
  const cached = more === undefined ? before : { audio: audio + more.audio, image: image + more.image }
  if (cached !== undefined) addBilled(usage, { cached })
  return usage
}

function added<T extends { total: number }>(sum: T | undefined, next: T): T {
  if (sum === undefined) return { ...next }
  const both = { ...sum } as Record<string, number>
  for (const [name, value] of Object.entries(next)) both[name] = (both[name] ?? 0) + value
  return both as T
}
