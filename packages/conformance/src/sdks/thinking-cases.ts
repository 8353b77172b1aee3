import type { Script } from '@modelgate/testing'
import { expect } from 'vitest'
import type { ClientFormat } from '../base/client-formats.ts'
import { type JsonObject, listOf, objectOf, textOf } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { clientConversations, countsApart } from './client-conversations.ts'
import { type Case, callResults, lossesOf } from './context.ts'

/** Three turns of a model that thinks before each, and one more question. */
const script: readonly Script[] = [
  {
    thinking: 'First I look.',
    toolCalls: [
      { name: 'get_weather', input: { city: 'Paris' } },
      { name: 'get_time', input: { city: 'Oslo' } },
    ],
  },
  { thinking: 'Then I look again.', text: 'One moment.', toolCalls: [{ name: 'get_time', input: { city: 'Rome' } }] },
  { thinking: 'Now I know.', text: 'It is late.' },
  { text: 'Goodbye.' },
]
const thoughts = ['First I look.', 'Then I look again.', 'Now I know.']

/** Finish reasons of a response with tool calls and of a final one. */
const endings: Readonly<Record<ClientFormat, readonly [calls: string, done: string]>> = {
  chat: ['tool_calls', 'stop'],
  messages: ['tool_use', 'end_turn'],
  gemini: ['STOP', 'STOP'],
  responses: ['completed', 'completed'],
  ollama: ['stop', 'stop'],
  converse: ['tool_use', 'end_turn'],
}

/** Returns true if the client receives the thinking. OpenAI's models hide it by default, and chat cannot request it. */
const isShown = (client: ClientFormat, upstream: Format): boolean => !(client === 'chat' && upstream === 'responses')

/** Returns the seals that the upstream received, in order. The fake provider rejects seals that it did not issue. */
function sealsIn(upstream: Format, body: JsonObject): string[] {
  const parts = (list: string, inner: string): JsonObject[] =>
    listOf(body[list]).flatMap((turn) => listOf(objectOf(turn)[inner]).map(objectOf))
  const seals: Readonly<Record<Format, () => unknown[]>> = {
    chat: () => [],
    messages: () => parts('messages', 'content').map(({ type, signature, data }) => type && (signature ?? data)),
    gemini: () => parts('contents', 'parts').map(({ thoughtSignature }) => thoughtSignature),
    responses: () => listOf(body.input).map((item) => objectOf(item).encrypted_content),
  }
  return seals[upstream]()
    .map(textOf)
    .filter((seal) => seal !== '' && seal !== unsignedCallMarker)
}

/** Google's documented signature for calls without one. */
const unsignedCallMarker = 'skip_thought_signature_validator'

/** Returns how many of the three seals the upstream must receive. Chat models issue none, and Ollama has no field for them. */
function sealsKept(client: ClientFormat, upstream: Format, stream: boolean): number {
  if (upstream === 'chat' || client === 'ollama') return 0
  return lastSealIsLeft(client, upstream, stream) ? 2 : 3
}
/** Gemini's seal of the final text follows it, where clients of Messages expect text: it is dropped and reported. */
const lastSealIsLeft = (client: ClientFormat, upstream: Format, stream: boolean): boolean =>
  stream && client === 'messages' && upstream === 'gemini'

/**
 * Returns the losses of such a loop: an exact budget for effort-only upstreams, and unsigned thoughts for upstreams
 * that require signatures.
 */
function lossesIn(client: ClientFormat, upstream: Format): readonly string[] {
  if (client === upstream) return []
  const efforts = upstream === 'chat' || upstream === 'responses'
  if (client === 'messages' && efforts) return ['/thinking/budget_tokens']
  if (client === 'converse' && efforts) return ['/additionalModelRequestFields/thinking/budget_tokens']
  if (client === 'gemini' && efforts) return ['/generationConfig/thinkingConfig/thinkingBudget']
  return []
}

export const thinkingCases = (client: ClientFormat): readonly Case[] =>
  [false, true].map((stream) => ({
    name: `completes three turns of thinking with tools, ${stream ? 'streamed' : 'unstreamed'}`,
    async run(setting) {
      const { fake, upstream } = setting
      fake.reply(...script)
      const model = client === 'ollama' && upstream === 'gemini' ? 'signing' : 'demo'
      const talk = clientConversations[client](setting, { model, stream, think: true, tools: Object.keys(callResults) })
      const results = Object.fromEntries(Object.entries(callResults).map(([name, text]) => [name, [{ text }]]))
      const first = await talk.sendUserMessage({
        text: 'What is the weather in Paris, and how late is it in Oslo and Rome?',
      })
      const second = await talk.sendToolResults(results)
      let third = second
      const talkLosses = await lossesOf(
        setting,
        async () => {
          third = await talk.sendToolResults(results)
        },
        true,
      )
      const [calls, done] = endings[client]
      expect(
        [first, second, third].map(({ text, tools, finishReason }) => ({ text, tools, end: finishReason })),
      ).toEqual([
        {
          text: '',
          tools: [
            { name: 'get_weather', input: { city: 'Paris' } },
            { name: 'get_time', input: { city: 'Oslo' } },
          ],
          end: calls,
        },
        { text: 'One moment.', tools: [{ name: 'get_time', input: { city: 'Rome' } }], end: calls },
        { text: 'It is late.', tools: [], end: done },
      ])
      expect([first, second, third].map(({ reasoning }) => reasoning)).toEqual(
        isShown(client, upstream) ? thoughts : ['', '', ''],
      )
      for (const { usage } of [first, second, third])
        expect(countsApart(client, 'reasoning') ? usage?.reasoning : usage?.output).toBeGreaterThan(0)
      const losses = await lossesOf(setting, () => talk.sendUserMessage({ text: 'Thank you.' }))
      const seals = sealsIn(upstream, objectOf(fake.requests.at(-1)?.body))
      expect(new Set(seals).size).toBe(sealsKept(client, upstream, stream))
      expect(losses.map(({ path }) => path)).toEqual(lossesIn(client, upstream))
      expect(talkLosses.some(({ detail }) => detail.includes('the seal of a text'))).toBe(
        lastSealIsLeft(client, upstream, stream),
      )
    },
  }))
