import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { type ApiRequest, formats, type Settings, snippetsOf, type Turn } from '@modelgate/console/test-support'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { upstreamKey } from '../base/gateways.ts'

// Runs the Playground's code like a reader would: with the official SDKs and with curl.

const token = 'mg-secret-token'
const here = fileURLToPath(new URL('../..', import.meta.url))

const provider = createFakeProvider({ apiKey: upstreamKey })
const gateway = createGateway({
  auth: (given) => (given === token ? { id: 'me' } : null),
  upstreams: {
    chat: openai({ apiKey: upstreamKey, baseURL: 'http://provider.test/v1', formats: ['chat'] }),
    responses: openai({ apiKey: upstreamKey, baseURL: 'http://provider.test/v1', formats: ['responses'] }),
    messages: anthropic({ apiKey: upstreamKey, baseURL: 'http://provider.test' }),
    gemini: gemini({ apiKey: upstreamKey, baseURL: 'http://provider.test' }),
  },
  models: { 'by/chat': 'chat', 'by/responses': 'responses', 'by/messages': 'messages', 'by/gemini': 'gemini' },
  fetch: provider.fetch,
  logger: false,
})

/** Requests that the gateway received. */
const asked: { path: string; body: unknown }[] = []
const server = createServer(
  getRequestListener(async (request) => {
    const { pathname, search } = new URL(request.url)
    asked.push({ path: pathname + search, body: await request.clone().json() })
    return gateway.fetch(request)
  }),
)
let base = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  asked.length = 0
})

function run(program: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { PATH = '' } = process.env
    const child = spawn(program, args, { cwd: here, env: { PATH, MODELGATE_TOKEN: token } })
    let out = ''
    let wrong = ''
    child.stdout.on('data', (bytes) => {
      out += bytes
    })
    child.stderr.on('data', (bytes) => {
      wrong += bytes
    })
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${program} ended with ${code}: ${wrong}`)),
    )
    child.stdin.end(input)
  })
}

const runners = {
  curl: (code: string) => run('sh', ['-e'], code),
  sdk: (code: string) => run(process.execPath, ['--input-type=module', '-'], code),
}

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const turns: readonly Turn[] = [
  { role: 'user', text: `It's "quoted", $HOME \`x\` \\n and\na line, héllo 👍`, images: [] },
  { role: 'assistant', text: 'Yes.', reasoning: '', toolCalls: [] },
  { role: 'user', text: 'Say hello', images: [{ name: 'dot.png', type: 'image/png', data: pixel }] },
]
const settings: Settings = {
  model: '',
  system: "Don't be long.",
  temperature: 0.5,
  maxTokens: 300,
  stream: false,
  tools: [
    {
      name: 'get_weather',
      description: 'The weather of a city',
      schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ],
}

/** Google's SDK adds a role to the system prompt, with the same meaning. */
function expectSame(sent: { path: string; body: unknown } | undefined, request: ApiRequest): void {
  expect(sent?.path).toBe(request.path)
  const { systemInstruction, ...body } = (sent?.body ?? {}) as Record<string, unknown>
  const { systemInstruction: wanted, ...others } = request.body
  expect(body).toEqual(others)
  expect((systemInstruction as { parts?: unknown } | undefined)?.parts).toEqual(
    (wanted as { parts?: unknown } | undefined)?.parts,
  )
}

describe.each(formats)('Playground code of a call in $name', (format) => {
  describe.each(['curl', 'sdk'] as const)('as %s', (kind) => {
    it.each([false, true])('repeats the call and prints its response (stream: %s)', async (stream) => {
      const request = format.build(turns, { ...settings, model: `by/${format.id}`, stream })
      const code = snippetsOf({ format, request, base, withToken: true }).find(({ id }) => id === kind)?.code ?? ''
      expect(code).not.toContain(token)
      const out = await runners[kind](code)
      expect(asked).toHaveLength(1)
      expectSame(asked[0], request)
      // The demo model calls its tool or responds with text: either way, part of the response is printed.
      expect(out).toMatch(/get_weather|hello/i)
    })
  })

  it('sends a picture of half a megabyte as curl', async () => {
    const image = { name: 'big.png', type: 'image/png', data: 'QUJD'.repeat(125_000) }
    const big: Turn = { role: 'user', text: 'Say hello', images: [image] }
    const request = format.build([big], { ...settings, model: `by/${format.id}`, tools: [] })
    const [curl] = snippetsOf({ format, request, base, withToken: true })
    expect(await runners.curl(curl?.code ?? '')).toMatch(/hello/i)
    expectSame(asked[0], request)
  })
})
