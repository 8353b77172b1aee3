import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { anthropicClient, openaiClient } from '@modelgate/conformance/test-support'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installedExample } from './installed-example.ts'
import { startProgram, stopExamples } from './start-example.ts'

const env = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
const token = 'demo-token'

const folder = await installedExample('nextjs')

describe.skipIf(folder === undefined)('examples/nextjs, installed and built with npm', () => {
  let origin = ''
  beforeAll(async () => {
    if (folder === undefined) return
    const next = join(folder, 'node_modules/next/dist/bin/next')
    await promisify(execFile)(process.execPath, [next, 'build'], { cwd: folder, env: { ...process.env, ...env } })
    const example = startProgram(process.execPath, [next, 'start', '-p', '0', '-H', '127.0.0.1'], env, folder)
    const [, output = ''] = await example.waitForOutput(/Local: +(http:\S+)[\s\S]*Ready/)
    origin = output
  }, 300_000)
  afterAll(stopExamples)

  it('serves the gateway below its route, and its own pages', async () => {
    const body = { model: 'claude-opus-5', messages: [{ role: 'user', content: 'hello' }] }
    const ask = (headers: Record<string, string>) =>
      fetch(`${origin}/ai/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const answer = await ask({ authorization: `Bearer ${token}` })
    expect(await answer.json()).toMatchObject({ object: 'chat.completion', choices: [{ finish_reason: 'stop' }] })
    expect((await ask({})).status).toBe(401)
    expect(await (await fetch(origin)).text()).toContain('The rest of your app.')
    expect((await fetch(`${origin}/ai/v1/nothing`)).status).toBe(404)
  })

  it('streams event by event', async () => {
    // After three events the provider sends nothing: waiting for the whole response would never end.
    const stream = await openaiClient({ origin: `${origin}/ai`, token }).chat.completions.create({
      model: 'claude-opus-5',
      messages: [{ role: 'user', content: '[[stall after:5]] hello' }],
      stream: true,
    })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    stream.controller.abort()
  })

  it('responds to the SDK of another vendor', async () => {
    const client = anthropicClient({ origin: `${origin}/ai`, token })
    const messages = [{ role: 'user' as const, content: 'hello' }]
    const stream = client.messages.stream({ model: 'gpt-5', max_tokens: 100, messages })
    expect(await stream.finalText()).toContain('You said: “hello”')
  })
})
