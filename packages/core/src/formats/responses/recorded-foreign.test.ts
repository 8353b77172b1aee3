import { describe, expect, test } from 'vitest'
import { chatCodec } from '../chat/codec.ts'
import type { Codec } from '../codec.ts'
import type { ModelResponse, Part } from '../ir.ts'
import { messagesCodec } from '../messages/index.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { responsesCodec } from './codec.ts'
import { checkGrammar } from './grammar.test-support.ts'
import { contextFor, eventsOf, isStream, parsed, present, readExchanges, run } from './recorded.test-support.ts'

/** Recorded responses of other formats, encoded for a client of this one. */

const outputOf = ({ choices }: ModelResponse) => {
  const parts = choices[0]?.parts ?? []
  const texts = (type: Part['type']): string =>
    parts.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('')
  return {
    text: texts('text'),
    refusal: texts('refusal'),
    reasoning: texts('reasoning'),
    seals: parts.flatMap((part) => (part.type === 'reasoning' && part.seal ? [part.seal] : [])),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call' ? [[part.id, part.name, part.custom ? part.input : part.input || '{}']] : [],
    ),
  }
}
/** The format has one choice, and endings with an error become errors. */
const isEncodable = ({ choices }: ModelResponse): boolean =>
  choices.length === 1 && choices[0]?.finish.reason !== 'error'

describe.skipIf(!present).each([
  ['openai-chat', chatCodec, 700, 120],
  ['anthropic-messages', messagesCodec, 250, 70],
] as [string, Codec, number, number][])('recorded responses of %s', (format, upstream, wholes, streams) => {
  const exchanges = present ? readExchanges(format).filter(({ response }) => response.status === 200) : []

  test('keep their content for a client of the responses format', () => {
    let count = 0
    for (const { path, response } of exchanges) {
      const body = isStream(response.body) ? undefined : parsed(response.body)
      if (body === undefined) continue
      let answer: ModelResponse
      try {
        answer = upstream.decodeResponse(body, contextFor({}, false))
      } catch {
        continue // an error in place of a response
      }
      if (
        !isEncodable(answer) ||
        (answer.choices[0]?.parts.length === 0 && answer.choices[0].finish.reason === 'other')
      )
        continue
      const wire = responsesCodec.encodeResponse(answer, contextFor())
      const again = responsesCodec.decodeResponse(structuredClone(wire), contextFor({}, false))
      const { explanation } = answer.choices[0]?.finish ?? {}
      const expected = outputOf(answer)
      if (expected.refusal === '' && explanation !== undefined) expected.refusal = outputOf(again).refusal
      // Reasoning with nothing but a seal returns in an item of its own.
      expect(outputOf(responsesReturned(again)), path).toEqual(expected)
      count++
    }
    expect(count).toBeGreaterThan(wholes)
  })

  test('stream as the grammar demands, with the same content', () => {
    let count = 0
    for (const { path, response, features } of exchanges) {
      if (!isStream(response.body) || features.includes('concatenated_streams')) continue
      const { upstream: _, ...context } = contextFor({}, false)
      const decoder = { ...context, target: { model: 'm', quirks: { doneOptional: true } } }
      const events = run(upstream.decodeStream(decoder), eventsOf(response.body))
      const sent = run(responsesCodec.encodeStream(contextFor({ stream: true })), events)
      checkGrammar(sent, path)
      const folded = foldEvents(events.filter((event) => !('choice' in event) || event.choice === 0))
      if (events.at(-1)?.type !== 'response-end' || !isEncodable(folded)) continue
      const again = foldEvents(run(responsesCodec.decodeStream(contextFor({}, false)), sent))
      const expected = outputOf(folded)
      if (expected.refusal === '' && folded.choices[0]?.finish.explanation) expected.refusal = outputOf(again).refusal
      expect(outputOf(responsesReturned(again)), path).toEqual(expected)
      expect(again.usage?.input.total, path).toBe(folded.usage?.input.total ?? 0)
      count++
    }
    expect(count).toBeGreaterThan(streams)
  })
})

/** The response as a later request holds it, with seals attached to calls. */
function responsesReturned(response: ModelResponse): ModelResponse {
  const wire = responsesCodec.encodeResponse(response, contextFor({}, false))
  const body = { model: 'm', input: wire.output ?? [] }
  const { turns } = responsesCodec.decodeRequest(structuredClone(body), contextFor({}, false))
  return { ...response, choices: [{ parts: turns.flatMap(({ parts }) => parts), finish: { reason: 'stop' } }] }
}
