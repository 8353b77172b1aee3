import { describe, expect, test } from 'vitest'
import type { SharedFormat } from '../../base/names.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { run, testContext } from '../chat/context.test-support.ts'
import { codecs } from '../codecs.ts'
import { eventsOf, isStream, present, readRecorded } from './recorded.test-support.ts'

/** No stream of Converse has been recorded. */
const indexed: Readonly<Record<Exclude<SharedFormat, 'converse'>, string>> = {
  chat: 'openai-chat',
  messages: 'anthropic-messages',
  gemini: 'gemini',
  responses: 'openai-responses',
}

/** Adds leading white space to every second event, so that no template matches and each event is parsed separately. */
const neverAlike = (events: readonly SseEvent[]): SseEvent[] =>
  events.map(({ event, data }, i) => ({ event, data: ' '.repeat(i % 2) + data }))

describe.skipIf(!present)('recorded events that share a template', () => {
  test.each(codecs.filter(({ format }) => format in indexed))(
    'decode to the same results as separately parsed events of $format',
    (codec) => {
      let streams = 0
      for (const { path, response } of readRecorded(indexed[codec.format as keyof typeof indexed])) {
        if (!isStream(response.body)) continue
        const read = (events: readonly SseEvent[]) => {
          const context = testContext()
          return { events: run(codec.decodeStream(context), events), losses: context.losses }
        }
        const events = eventsOf(response.body)
        expect(read(events), path).toEqual(read(neverAlike(events)))
        streams++
      }
      expect(streams).toBeGreaterThan(20)
    },
  )
})
