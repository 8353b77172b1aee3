import { expect } from 'vitest'
import type { ClientFormat } from '../base/client-formats.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { clientConversations, countsApart } from './client-conversations.ts'
import { type Case, lossesOf, onTwoServers, rejection } from './context.ts'
import type { ConversationResult } from './conversation.ts'

const apology = "I'm sorry, but I can't help with that."

type Word = 'length' | 'filter' | 'refusal'
/** Finish reasons of each dialect for incomplete responses. */
const words: Readonly<Record<ClientFormat, Readonly<Record<Word, string>>>> = {
  chat: { length: 'length', filter: 'content_filter', refusal: 'content_filter' },
  messages: { length: 'max_tokens', filter: 'refusal', refusal: 'refusal' },
  gemini: { length: 'MAX_TOKENS', filter: 'SAFETY', refusal: 'SAFETY' },
  responses: { length: 'max_output_tokens', filter: 'content_filter', refusal: 'content_filter' },
  ollama: { length: 'length', filter: 'content_filter', refusal: 'content_filter' },
  converse: { length: 'max_tokens', filter: 'content_filtered', refusal: 'content_filtered' },
}

/**
 * OpenAI's refusals end with the ordinary finish reason. Google blocks the prompt, with its own reason for its own
 * clients.
 */
function refusalEnd(client: ClientFormat, upstream: Format): string {
  if (client === 'chat' && upstream === 'chat') return 'stop'
  if (client === 'responses' && (upstream === 'chat' || upstream === 'responses')) return 'completed'
  if (client === 'gemini' && upstream === 'gemini') return 'PROHIBITED_CONTENT'
  return words[client].refusal
}

/** Returns true if a refusal's text is separate: both client and upstream have a field for it. */
function refusalIsApart(client: ClientFormat, upstream: Format): boolean {
  if (upstream === 'messages') return false
  if (upstream === 'gemini') return true
  return client === 'chat' || client === 'responses'
}

/** Returns true if the client has no field for a refusal's text, which is an explanation and no content. */
const isOnlyReported = (client: ClientFormat, upstream: Format): boolean =>
  (client === 'ollama' || client === 'converse') && upstream === 'gemini'

/** Losses of a refusal that only the upstream's own format can express. */
function refusalLosses(client: ClientFormat, upstream: Format): readonly string[] {
  if (client === upstream) return []
  return upstream === 'messages' ? ['/stop_details'] : upstream === 'gemini' ? ['/promptFeedback'] : []
}

const inBothModes = (name: string, run: (stream: boolean) => Case['run']): readonly Case[] =>
  [false, true].map((stream) => ({ name: `${name}, ${stream ? 'streamed' : 'unstreamed'}`, run: run(stream) }))

/** Faults in the middle of a stream, and what the client's error must contain. */
const breaks: readonly { name: string; fault: string; tells?: RegExp; rare?: true }[] = [
  { name: 'an error event', fault: '[[error-event after:8]]', tells: /overloaded|server had an error/i },
  { name: 'a reset', fault: '[[reset after:8]]' },
  { name: 'a clean end of file', fault: '[[cut after:8]]', rare: true },
  { name: 'an end of file in an event', fault: '[[cut-event after:8]]', rare: true },
]

/** Responses that end early, and their usage. */
export const finishCases = (client: ClientFormat): readonly Case[] => [
  ...inBothModes('receives a response that ends at the token limit', (stream) => async (setting) => {
    const talk = clientConversations[client](setting, { stream, tokenLimit: 16 })
    const text = await talk.sendUserMessage({ text: '[[words:50]]' })
    expect(text.text.split(' ')).toHaveLength(16)
    expect(text.finishReason).toBe(words[client].length)
    expect(text.usage?.output).toBe(16)
  }),
  ...onTwoServers(
    inBothModes('receives a response that ends with a content filter', (stream) => async (setting) => {
      setting.fake.reply({ text: 'one two', finish: 'content-filter' })
      const text = await clientConversations[client](setting, { stream }).sendUserMessage({ text: 'Hello' })
      expect([text.text, text.finishReason]).toEqual(['one two', words[client].filter])
    }),
  ),

  ...inBothModes('receives a refusal', (stream) => async (setting) => {
    const { upstream } = setting
    let text: ConversationResult | undefined
    const notes = await lossesOf(
      setting,
      async () => {
        text = await clientConversations[client](setting, { stream }).sendUserMessage({ text: '[[refuse]]' })
      },
      true,
    )
    const losses = notes.filter(({ severity }) => severity !== 'note')
    expect(text?.finishReason).toBe(refusalEnd(client, upstream))
    if (isOnlyReported(client, upstream)) {
      expect([text?.text, text?.refusal]).toEqual(['', ''])
      expect(notes.some(({ detail }) => detail.includes(apology))).toBe(true)
    } else expect([text?.text, text?.refusal]).toEqual(refusalIsApart(client, upstream) ? ['', apology] : [apology, ''])
    // Some clients' encoders name the choice as a prefix, as the IR does.
    expect(losses.map(({ path }) => path.replace('/choices/0', ''))).toEqual(refusalLosses(client, upstream))
  }),
  ...inBothModes('receives cached and reasoning tokens in the format’s own totals', (stream) => async (setting) => {
    setting.fake.reply({ text: 'ok', usage: { input: 1000, cacheRead: 640, output: 90, reasoning: 70 } })
    const text = await clientConversations[client](setting, { stream }).sendUserMessage({ text: 'Hello' })
    const details = {
      ...(countsApart(client, 'cacheRead') ? { cacheRead: 640 } : {}),
      ...(countsApart(client, 'reasoning') ? { reasoning: 70 } : {}),
    }
    expect(text.usage).toMatchObject({ input: 1000, output: 90, ...details })
  }),
  ...breaks.map(
    ({ name, fault, tells }): Case => ({
      name: `throws after ${name} in mid-stream`,
      async run(setting) {
        const { finished } = setting
        const error = await rejection(
          clientConversations[client](setting, { stream: true }).sendUserMessage({ text: `[[words:50]] ${fault}` }),
        )
        expect(error).toBeInstanceOf(Error)
        if (tells !== undefined) expect(error.message).toMatch(tells)
        await expect.poll(() => finished.at(-1)?.outcome).toBe('failed')
      },
    }),
  ),
]
