import { describe, expect, it } from 'vitest'
import { asJson, asStream, setUp } from '../../gateway/create-gateway.test-support.ts'

const list = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const chatChoices = (count: number, streamed: boolean) => ({
  id: 'c1',
  model: 'real',
  choices: list(count, (index) => ({
    index,
    finish_reason: 'stop',
    [streamed ? 'delta' : 'message']: { content: 'a' },
  })),
})
const candidates = (count: number) => ({
  candidates: list(count, (index) => ({
    index,
    finishReason: 'STOP',
    content: { role: 'model', parts: [{ text: 'a' }] },
  })),
})
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const ask = { max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }
const { max_tokens: _, ...chatAsk } = ask
const headers = { 'anthropic-version': '2023-06-01' }

const answers = {
  a: (count: number, stream: boolean) =>
    stream ? asStream([event(chatChoices(count, true)), 'data: [DONE]\n\n']) : asJson(chatChoices(count, false)),
  g: (count: number, stream: boolean) => (stream ? asStream([event(candidates(count))]) : asJson(candidates(count))),
}

describe('a translated response', () => {
  it.each([
    ['chat', 'a', '/v1/messages', 'real', ask],
    ['gemini', 'g', '/v1/chat/completions', 'gemini-x', chatAsk],
  ] as const)(
    'of %s fails with 502 if it has more than 1,024 choices, whole and as a stream',
    async (_, host, path, model, body) => {
      for (const stream of [false, true]) {
        const statusOf = async (count: number) => {
          const reply = await setUp({ [host]: answers[host](count, stream) }).post(
            path,
            { model, ...body, stream },
            headers,
          )
          return [reply.status, await reply.text()] as const
        }
        expect((await statusOf(1024))[0]).toBe(200)
        const [status, text] = await statusOf(1025)
        expect(status).toBe(502)
        expect(text).toContain('The upstream sent more than 1024 choices in one response.')
      }
    },
  )
})
