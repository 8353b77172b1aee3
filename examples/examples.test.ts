import { afterEach, describe, expect, it } from 'vitest'
import { startExample, stopExamples } from './start-example.ts'

afterEach(stopExamples)

const body = { model: 'claude-opus-5', messages: [{ role: 'user', content: 'hello' }] }

describe.each(['express', 'fastify', 'hono'])('examples/%s', (name) => {
  it('serves the gateway beside its own routes', async () => {
    const example = startExample(`./${name}/main.js`)
    const [, root = '', token = ''] = await example.saying(/(http:\S+)\/v1 with the token (\S+)/)
    const post = (headers: Record<string, string>) =>
      fetch(`${root}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const answered = await post({ authorization: `Bearer ${token}` })
    expect(answered.status).toBe(200)
    expect(await answered.json()).toMatchObject({ object: 'chat.completion', choices: [{ finish_reason: 'stop' }] })
    expect((await post({})).status).toBe(401)
    expect(await (await fetch(root)).text()).toBe('The app goes on as before.')
    expect((await fetch(`${root}/nothing`)).status).toBe(404)
  })
})

describe('examples/in-process', () => {
  it('answers both SDKs without a server', async () => {
    const example = startExample('./in-process/main.js')
    expect(await example.ended).toBe(0)
    expect(example.said()).toMatch(/^openai SDK, claude-opus-5: \S.*\nanthropic SDK, gpt-5: \S.*\n$/)
  })
})
