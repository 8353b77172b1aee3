import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import {
  type ApiRequest,
  buildRequest,
  formats,
  type Settings,
  snippetsOf,
  type Turn,
} from '@modelgate/console/test-support'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { upstreamKey } from '../base/gateways.ts'
import { canRunPython, codeRunners } from './code-runners.ts'

// Runs the Playground's code like a reader would: with the official SDKs, with Python and with curl.

const token = 'mg-secret-token'
/** A folder with attachments, in which the installed packages are found. */
const here = mkdtempSync(join(tmpdir(), 'modelgate-console-code-'))
symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(here, 'node_modules'))
afterAll(() => rmSync(here, { recursive: true, force: true }))

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
const received: { path: string; body: unknown }[] = []
const server = createServer(
  getRequestListener(async (request) => {
    const { pathname, search } = new URL(request.url)
    received.push({ path: pathname + search, body: await request.clone().json() })
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
  received.length = 0
})

const runners = codeRunners(here, token)

const pythonModules = { chat: 'openai', responses: 'openai', messages: 'anthropic', gemini: 'google.genai' } as const
const hasPython = canRunPython('')
/** Python's SDKs are no packages of this workspace: `PYTHONPATH` may name a folder with them. */
const missing = hasPython
  ? [...new Set(Object.values(pythonModules))].filter((name) => !canRunPython(`import ${name}`))
  : []
if (!hasPython || missing.length > 0)
  process.stderr.write(
    hasPython
      ? `conformance: Python code for ${missing.join(', ')} is compiled but not run: install the packages to run it\n`
      : 'conformance: no python3 found, Python code of the Playground is not run\n',
  )

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const turns: readonly Turn[] = [
  { role: 'user', text: `It's "quoted", $HOME \`x\` \\n and\na line, héllo 👍`, images: [] },
  { role: 'assistant', text: 'Yes.', reasoning: '', toolCalls: [] },
  { role: 'user', text: 'Say hello', images: [{ name: 'dot.png', type: 'image/png', data: pixel }] },
]
const pdf = Buffer.alloc(150_000, 'A PDF file $HOME `x`.')
const sound = Buffer.alloc(60_000, 1)
const names = { pdf: "it's a report.pdf", audio: 'attachment-2.wav' }
writeFileSync(join(here, 'it_s a report.pdf'), pdf)
writeFileSync(join(here, 'attachment-1.pdf'), pdf)
writeFileSync(join(here, 'attachment-2.wav'), sound)

/** Messages has no audio input. */
const withFiles = (id: string): Turn => ({
  role: 'user',
  text: 'Say hello',
  images: [],
  files: [
    { name: names.pdf, type: 'application/pdf', data: pdf.toString('base64') },
    ...(id === 'messages' ? [] : [{ name: names.audio, type: 'audio/wav', data: sound.toString('base64') }]),
  ],
})

const everySetting = {
  topP: 0.5,
  stop: ['END'],
  seed: 7,
  effort: 'low',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} satisfies Partial<Settings>

/** Fields that the settings lack. */
const extraOf: Readonly<Record<string, Settings['extra']>> = {
  chat: { metadata: { team: 'a' }, logit_bias: { 5: 1 } },
  responses: { metadata: { team: 'a' }, truncation: 'auto' },
  messages: { metadata: { user_id: 'a' }, top_k: 5 },
  gemini: { generationConfig: { topK: 5, responseLogprobs: true } },
}

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

/** Google's SDK for Python writes the same protobuf JSON with other names, base64 and enum values. */
const inOneSpelling = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, item: unknown) => {
    if (name === 'data' && typeof item === 'string') return item.replaceAll('-', '+').replaceAll('_', '/')
    if (name === 'thinkingLevel' || name === 'thinking_level') return String(item).toLowerCase()
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(
      Object.entries(item).map(([key, inner]) => [
        key.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
        inner,
      ]),
    )
  })

/** Google's SDK adds a role to the system prompt, with the same meaning. */
function expectSame(
  sent: { path: string; body: unknown } | undefined,
  request: ApiRequest,
  spellsOtherwise = false,
): void {
  expect(sent?.path).toBe(request.path)
  const { systemInstruction, ...body } = (sent?.body ?? {}) as Record<string, unknown>
  const { systemInstruction: wanted, ...others } = request.body
  if (spellsOtherwise) expect(inOneSpelling(body)).toEqual(inOneSpelling(others))
  else expect(body).toEqual(others)
  expect((systemInstruction as { parts?: unknown } | undefined)?.parts).toEqual(
    (wanted as { parts?: unknown } | undefined)?.parts,
  )
}

describe.each(formats)('Playground code of a call in $name', (format) => {
  describe.each(['curl', 'sdk', 'fetch', 'python', 'python-sdk'] as const)('as %s', (kind) => {
    const isPython = kind.startsWith('python')
    it.skipIf(isPython && !hasPython).each([
      [false, 'plain'],
      [true, 'plain'],
      [true, 'every setting and files'],
    ] as const)('repeats the call and prints its response (stream: %s, with %s)', async (stream, content) => {
      const all = content === 'plain' ? {} : everySetting
      const extra = content === 'plain' ? undefined : extraOf[format.id]
      const asked = content === 'plain' ? turns : [...turns.slice(0, 2), withFiles(format.id)]
      const request = buildRequest(format, asked, { ...settings, ...all, extra, model: `by/${format.id}`, stream })
      const code = snippetsOf({ format, request, base, withToken: true }).find(({ id }) => id === kind)?.code ?? ''
      expect(code).not.toContain(token)
      expect(code.length).toBeLessThan(10_000)
      if (kind === 'python-sdk' && missing.includes(pythonModules[format.id])) {
        await runners.compilePython(code)
        return
      }
      const out = await runners[kind](code)
      expect(received).toHaveLength(1)
      expectSame(received[0], request, kind === 'python-sdk' && format.id === 'gemini')
      // The demo model calls its tool or responds with text: either way, part of the response is printed.
      expect(out).toMatch(/get_weather|hello|city|"text"/i)
    })
  })

  it.each(['sdk', 'python-sdk'])('needs no variable for an open gateway, as %s', (kind) => {
    const request = format.build(turns, { ...settings, model: 'm' })
    const code = snippetsOf({ format, request, base, withToken: false }).find(({ id }) => id === kind)?.code
    expect(code).toBeDefined()
    expect(code).not.toContain('MODELGATE_TOKEN')
  })
})
