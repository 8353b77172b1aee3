import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { fetchOf, gatewayTo } from '../base/gateways.ts'
import { serveBytes } from '../base/upstream-fetch.ts'

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

/**
 * Returns a Responses stream like Bedrock Mantle: events number the entries of an item from `first`, the complete item
 * from 0.
 */
function mantleStream(texts: readonly string[], first: number, list: 'text' | 'summary' = 'text'): string {
  const item_id = 'msg_1'
  const message = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })
  const answer = { type: 'message', id: item_id, role: 'assistant', status: 'completed', content: texts.map(message) }
  const thought = { type: 'reasoning', id: 'rs_1', summary: texts.map((text) => ({ type: 'summary_text', text })) }
  const item = list === 'text' ? answer : thought
  const empty = list === 'text' ? { ...answer, content: [], status: 'in_progress' } : { ...thought, summary: [] }
  const response = { id: 'resp_1', object: 'response', model: 'm', created_at: 1, status: 'in_progress', output: [] }
  const parts = texts.flatMap((text, position) => {
    const at =
      list === 'text'
        ? { item_id, output_index: 0, content_index: first + position }
        : { item_id: 'rs_1', output_index: 0, summary_index: first + position }
    return list === 'text'
      ? [
          event('response.content_part.added', { ...at, part: message('') }),
          event('response.output_text.delta', { ...at, delta: text }),
          event('response.output_text.done', { ...at, text }),
          event('response.content_part.done', { ...at, part: message(text) }),
        ]
      : [
          event('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }),
          event('response.reasoning_summary_text.delta', { ...at, delta: text }),
          event('response.reasoning_summary_text.done', { ...at, text }),
        ]
  })
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  return [
    event('response.created', { response }),
    event('response.output_item.added', { output_index: 0, item: empty }),
    ...parts,
    event('response.output_item.done', { output_index: 0, item }),
    event('response.completed', { response: { ...response, status: 'completed', output: [item], usage } }),
  ].join('')
}

const to = (body: string) => fetchOf(gatewayTo('responses', { fetch: serveBytes(body, { stream: true }).fetch }))
const messages = [{ role: 'user' as const, content: 'hi' }]

async function chatText(body: string): Promise<string> {
  const client = new OpenAI({ apiKey: 'k', baseURL: 'http://gateway.test/v1', fetch: to(body), maxRetries: 0 })
  let text = ''
  for await (const { choices } of await client.chat.completions.create({ model: 'm', messages, stream: true }))
    text += choices[0]?.delta.content ?? ''
  return text
}

async function messagesContent(body: string): Promise<readonly unknown[]> {
  const client = new Anthropic({ apiKey: 'k', baseURL: 'http://gateway.test', fetch: to(body), maxRetries: 0 })
  const { content } = await client.messages.stream({ model: 'm', max_tokens: 10, messages }).finalMessage()
  return content.map((block) =>
    block.type === 'text' ? block.text : block.type === 'thinking' ? block.thinking : block,
  )
}

describe.each([0, 1, 2])('Responses stream whose content_index begins at %i', (first) => {
  test.each([[['Hello.']], [['Hello, ', 'you.']]])(
    'gives the texts %j to the OpenAI and Anthropic SDKs once',
    async (texts) => {
      expect(await chatText(mantleStream(texts, first))).toBe(texts.join(''))
      expect((await messagesContent(mantleStream(texts, first))).join('')).toBe(texts.join(''))
    },
  )

  test('gives reasoning summaries to the Anthropic SDK once', async () => {
    const texts = ['First, ', 'then.']
    expect((await messagesContent(mantleStream(texts, first, 'summary'))).join('')).toBe(texts.join(''))
  })
})
