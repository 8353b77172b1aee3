import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { asJson, asStream, setUp } from '../../gateway/create-gateway.test-support.ts'
import { GrowingText } from './stream-parts.ts'

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

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const used = (): number => {
  for (let n = 0; n < 3; n++) collect()
  return process.memoryUsage().heapUsed
}
/** Creates separate strings, as a parser does. */
const piece = (n: number): string => JSON.parse(`"word ${n % 10} "`) as string

it.each([0, 1, 100, 1000, 5000])('returns all %i added pieces in order', (count) => {
  const text = new GrowingText('begun ')
  let expected = 'begun '
  for (let n = 0; n < count; n++) {
    expected += `${n} ü🙂`
    text.add(`${n} ü🙂`)
    expect(text.length).toBe(expected.length)
  }
  expect(text.toString()).toBe(expected)
  text.add('more')
  expect(text.toString()).toBe(`${expected}more`)
})

it('uses less than two bytes of memory per character', () => {
  const text = new GrowingText()
  const before = used()
  for (let n = 0; n < 200_000; n++) text.add(piece(n))
  expect((used() - before) / text.length).toBeLessThan(2)
  expect(text.length).toBe(1_400_000)
})
