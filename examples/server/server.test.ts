import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeProvider, listen } from '@modelgate/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { npmStart, type Running, stopExamples } from '../start-example.ts'
import { modelgate, program } from './modelgate.ts'

afterEach(stopExamples)

interface Server extends Running {
  root: string
  token: string
}

async function start(env: Record<string, string> = {}): Promise<Server> {
  const server = await ready(modelgate(['start'], env))
  // A configured token is not printed.
  return { ...server, token: env.MODELGATE_TOKEN ?? server.token }
}

async function ready(server: Running): Promise<Server> {
  const [, root = ''] = await server.waitForOutput(/listens on (\S+)/)
  const [, token = ''] = await server.waitForOutput(/Token +(.+?)(?: {2}\(|\n)/)
  await server.waitForOutput(/\/v1\/models .*\n/)
  return { ...server, root, token }
}

const call = (
  { root, token }: Pick<Server, 'root' | 'token'>,
  path: string,
  body: object,
  headers: Record<string, string> = {},
) =>
  fetch(root + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body),
  })
const hello = [{ role: 'user', content: 'hello' }]
const chatModels = ['demo-chat', 'demo-messages', 'demo-gemini', 'demo-responses']
const otherModels = ['demo-embedding', 'demo-image', 'demo-transcribe', 'demo-speech', 'demo-rerank', 'demo-realtime']
const demoModels = [...chatModels, ...otherModels]
const version = { 'anthropic-version': '2023-06-01' }

describe('without a key', () => {
  it('prints its addresses and models', async () => {
    const { output, root, token } = await start()
    expect(output()).toContain(`OpenAI clients     base URL ${root}/v1\n`)
    expect(output()).toContain(`Anthropic clients  base URL ${root}\n`)
    expect(output()).toContain(`Google clients     base URL ${root}\n`)
    for (const model of demoModels) expect(output()).toMatch(new RegExp(`^  (.*, )?${model}(,.*)? +demo-`, 'm'))
    expect(token).toMatch(/^mg-.{32}$/)
  })

  it('generates a token with each start, and accepts a configured one', async () => {
    const [first, second, third] = await Promise.all([start(), start(), start({ MODELGATE_TOKEN: 'my own' })])
    expect(first.token).not.toBe(second.token)
    expect(third.token).toBe('my own')
    expect((await call(third, '/v1/chat/completions', { model: 'demo-chat', messages: hello })).status).toBe(200)
    const stranger = { ...third, token: first.token }
    expect((await call(stranger, '/v1/chat/completions', { model: 'demo-chat', messages: hello })).status).toBe(401)
  })

  it.each([
    ['chat', () => '/v1/chat/completions', { messages: hello }, /"finish_reason": ?"stop"/],
    ['messages', () => '/v1/messages', { max_tokens: 99, messages: hello }, /"stop_reason":"end_turn"/],
    [
      'generateContent',
      (model: string) => `/v1beta/models/${model}:generateContent`,
      { contents: [{ parts: [{ text: 'hello' }] }] },
      /"finishReason": ?"STOP"/,
    ],
    ['responses', () => '/v1/responses', { input: 'hello' }, /"status": ?"completed"/],
  ])('serves every model to %s clients', async (_name, pathOf, body, expected) => {
    const server = await start()
    for (const model of chatModels) {
      const path = pathOf(model)
      const named = path.includes(model) ? body : { model, ...body }
      const response = await call(server, path, named, version)
      expect([model, response.status]).toEqual([model, 200])
      expect(await response.text()).toMatch(expected)
    }
  })

  it('serves embeddings, images, audio and rankings', async () => {
    const server = await start()
    const json = async (path: string, body: object) => {
      const response = await call(server, path, body)
      expect([path, response.status]).toEqual([path, 200])
      return response.json()
    }
    const { data: vectors } = await json('/v1/embeddings', { model: 'demo-embedding', input: ['a', 'b'] })
    expect(vectors).toHaveLength(2)
    const { data } = await json('/v1/images/generations', { model: 'demo-image', prompt: 'a cat', size: '64x64' })
    const picture = Buffer.from(data[0].b64_json, 'base64')
    expect(picture.subarray(0, 8)).toEqual(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
    const ranking = { model: 'demo-rerank', query: 'ruby', documents: ['Paris', 'Ruby is a language'] }
    for (const path of ['/v1/rerank', '/v2/rerank'])
      expect((await json(path, ranking)).results[0]).toMatchObject({ index: 1 })
    const { choices } = await json('/v1/completions', { model: 'demo-chat', prompt: '[[say:Hi]]' })
    expect(choices[0].text).toBe('Hi')

    const speech = { model: 'demo-speech', voice: 'alloy', input: 'hello there' }
    const spoken = await call(server, '/v1/audio/speech', speech)
    expect(spoken.headers.get('content-type')).toBe('audio/wav')
    const sound = await spoken.arrayBuffer()
    const form = new FormData()
    form.set('file', new Blob([sound], { type: 'audio/wav' }), 'hello.wav')
    form.set('model', 'demo-transcribe')
    const headers = { authorization: `Bearer ${server.token}` }
    const heard = await fetch(`${server.root}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
    expect((await heard.json()).text).toContain(
      `“hello.wav” (audio/wav, ${sound.byteLength.toLocaleString('en-US')} bytes)`,
    )
    form.set('model', 'demo-image')
    form.set('prompt', 'greener')
    form.set('image', new Blob([picture], { type: 'image/png' }), 'cat.png')
    form.delete('file')
    const edited = await fetch(`${server.root}/v1/images/edits`, { method: 'POST', headers, body: form })
    expect((await edited.json()).data[0].b64_json).toMatch(/^iVBORw0KGgo/)
  })

  it('opens a realtime session', async () => {
    const { root, token } = await start()
    // Without a WebSocket client: not every supported Node has one.
    const request = get(`${root}/v1/realtime?model=demo-realtime`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        'sec-websocket-version': '13',
        authorization: `Bearer ${token}`,
      },
    })
    const first = await new Promise<string>((resolve, reject) => {
      request.on('response', ({ statusCode }) => reject(new Error(`no upgrade but status ${statusCode}`)))
      request.on('error', reject)
      request.on('upgrade', (_response, socket, head) => {
        const done = (bytes: Buffer): void => {
          socket.destroy()
          resolve(bytes.toString())
        }
        if (head.length > 0) done(head)
        else socket.once('data', done)
      })
    })
    expect(first).toContain('"type":"session.created"')
  })

  it('serves its pages at the printed addresses, and a JSON 404 elsewhere', async () => {
    const { root, output } = await start()
    for (const [name, title] of [
      ['Home page', 'Modelgate'],
      ['Playground', 'Playground'],
    ]) {
      const address = new RegExp(`${name} +(\\S+)`).exec(output())?.[1] ?? ''
      const page = await fetch(address)
      expect(page.headers.get('content-type'), address).toContain('text/html')
      expect(await page.text()).toMatch(new RegExp(`<title>[^<]*${title}`))
    }
    const response = await fetch(`${root}/nothing`)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('/nothing') } })
  })
})

const hasShell = ['bash', 'curl'].every((program) => spawnSync(program, ['--version']).status === 0)

describe.skipIf(!hasShell)('the curl lines', () => {
  it.each([
    ['a made token', {}],
    ['a token that a shell would read', { MODELGATE_TOKEN: `it's "$HOME" \`x\` \\ !` }],
  ])('work when pasted, with %s', async (_name, env) => {
    const server = await start(env)
    const { MODELGATE_TOKEN: own } = { MODELGATE_TOKEN: undefined, ...env }
    if (own !== undefined) expect(server.output()).not.toContain(own)
    const [chat = '', messages = '', content = '', responses = '', models = ''] = server
      .output()
      .split('\n')
      .filter((line) => line.startsWith('curl '))
    const paste = async (line: string): Promise<string> => {
      const { stdout, stderr, status } = spawnSync('bash', ['-c', line], {
        encoding: 'utf8',
        env: { ...process.env, ...env },
      })
      expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
      return stdout
    }
    expect(await paste(chat)).toMatch(/^data: \{.*\n\ndata: \[DONE\]\n\n$/s)
    expect(JSON.parse(await paste(messages))).toMatchObject({ type: 'message', stop_reason: 'end_turn' })
    expect(JSON.parse(await paste(content))).toMatchObject({ candidates: [{ finishReason: 'STOP' }] })
    expect(JSON.parse(await paste(responses))).toMatchObject({ object: 'response', status: 'completed' })
    expect(JSON.parse(await paste(models)).data.map(({ id }: { id: string }) => id)).toEqual(demoModels)
  })
})

describe('with keys', () => {
  it('serves their providers by model name, without the demo', async () => {
    const provider = createFakeProvider({ apiKey: 'upstream-key' })
    const upstream = await listen(provider)
    const server = await start({
      OPENAI_API_KEY: 'upstream-key',
      OPENAI_BASE_URL: upstream.url,
      ANTHROPIC_API_KEY: 'upstream-key',
      ANTHROPIC_BASE_URL: upstream.origin,
    })
    expect(server.output()).not.toContain('demo')
    expect(server.output()).not.toContain('upstream-key')
    for (const [model, path] of [
      ['gpt-5-mini', '/v1/chat/completions'],
      ['o3', '/v1/chat/completions'],
      ['claude-anything', '/v1/messages'],
    ] as const) {
      expect((await call(server, '/v1/chat/completions', { model, messages: hello })).status).toBe(200)
      expect(provider.requests.at(-1)).toMatchObject({ path, body: { model } })
      expect(JSON.stringify(provider.requests.at(-1))).not.toContain(server.token)
    }
    expect((await call(server, '/v1/chat/completions', { model: 'gemini-x', messages: hello })).status).toBe(404)
    await upstream.close()
  })

  it('reports a base URL without a key', async () => {
    const server = await start({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' })
    expect(server.output()).toContain('ANTHROPIC_BASE_URL is ignored, because ANTHROPIC_API_KEY is not set')
  })
})

/** Returns the lines of an output without the warning about stored responses in memory, which precedes some errors. */
const errorLines = (output: string): string[] =>
  output
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('modelgate: stored responses, and the owners of references'))

describe('a failed start', () => {
  it('reports a port in use', async () => {
    const { root } = await start()
    const { port } = new URL(root)
    const second = modelgate(['start'], { PORT: port })
    expect(await second.ended).toBe(1)
    expect(errorLines(second.output())).toEqual([
      `modelgate: Port ${port} on 127.0.0.1 is in use: stop the other process, or set PORT to another port.`,
    ])
  })

  it.each([
    [{ PORT: 'http' }, "Invalid PORT 'http'"],
    [{ PORT: '70000' }, "Invalid PORT '70000'"],
    [{ HOST: '192.0.2.1' }, "HOST is '192.0.2.1'"],
    [{ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'localhost:1234' }, "baseURL 'localhost:1234'"],
  ])('reports %j in one line', async (env, message) => {
    const server = modelgate(['start'], env)
    expect(await server.ended).toBe(1)
    expect(errorLines(server.output())).toEqual([expect.stringContaining(message)])
  })
})

describe('a changed configuration', () => {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })

  it.each([
    ['SIGHUP', [], (server: Running) => server.signal('SIGHUP')],
    ['--watch', ['--watch'], () => {}],
  ] as const)('is reloaded by %s', async (_name, args, ask) => {
    const folder = mkdtempSync(join(tmpdir(), 'modelgate-server-'))
    folders.push(folder)
    const file = join(folder, 'modelgate.config.json')
    const write = (model: string): void =>
      writeFileSync(
        file,
        JSON.stringify({
          upstreams: { one: { provider: 'openai', apiKey: 'k' } },
          models: { [model]: 'one' },
          token: 't',
        }),
      )
    write('before')
    const server = await ready(modelgate(['start', '--config', file, ...args]))
    write('after')
    ask(server)
    await server.waitForOutput(/Configuration reloaded/)
    const response = await fetch(`${server.root}/v1/models`, { headers: { authorization: 'Bearer t' } })
    expect(await response.json()).toMatchObject({ data: [{ id: 'after' }] })
  })
})

describe('graceful shutdown', () => {
  const longPrompt = [{ role: 'user', content: 'Tell me something. '.repeat(20) }]

  /** Starts a stream that has begun and ends seconds later. */
  async function longStream(server: Pick<Server, 'root' | 'token'>) {
    const response = await call(server, '/v1/chat/completions', {
      model: 'demo-chat',
      stream: true,
      messages: longPrompt,
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let text = decoder.decode((await reader.read()).value, { stream: true })
    return async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read())
        text += decoder.decode(read.value, { stream: true })
      return text
    }
  }

  it.each([
    ['modelgate', 'SIGTERM', () => modelgate(['start'])],
    ['modelgate', 'SIGINT', () => modelgate(['start'])],
    ['npm start', 'SIGTERM', () => npmStart()],
  ] as const)(
    '%s: %s lets a running stream finish, rejects new calls, and exits with 0',
    async (_name, signal, run) => {
      const server = await ready(run())
      const rest = await longStream(server)
      server.signal(signal)
      await server.waitForOutput(new RegExp(signal))
      // Load balancers have to read that the server is not ready, so it accepts connections until its calls have finished.
      const messages = [{ role: 'user', content: 'Hi' }]
      const rejected = await call(server, '/v1/chat/completions', { model: 'demo-chat', messages })
      expect(rejected.status).toBe(503)
      expect(((await rejected.json()) as { error: { message: string } }).error.message).toMatch(/shutting down/)
      expect((await fetch(`${server.root}/readyz`)).status).toBe(503)
      expect(await rest()).toMatch(/data: \[DONE\]\n\n$/)
      expect(await server.ended).toBe(0)
      await expect(fetch(`${server.root}/v1/models`)).rejects.toThrow()
    },
  )

  it('completes a running stream although its output pipe is closed, as with `| tee` and Ctrl-C', async () => {
    const child = spawn(process.execPath, [program, 'start', '--port', '0'], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'exit')
    let output = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      output += chunk
      if (/\/v1\/models .*\n/.test(output)) break
    }
    // Leaving the loop closes the pipe.
    child.stderr.destroy()
    const [, root = ''] = /listens on (\S+)/.exec(output) ?? []
    const [, token = ''] = /Token +(\S+)/.exec(output) ?? []
    const rest = await longStream({ root, token })
    child.kill('SIGTERM')
    expect(await rest()).toMatch(/data: \[DONE\]\n\n$/)
    expect(await ended).toEqual([0, null])
  })

  it('treats two simultaneous signals as one, as npm and the terminal send them', async () => {
    const server = await start()
    const rest = await longStream(server)
    server.signal('SIGINT')
    server.signal('SIGINT')
    expect(await rest()).toMatch(/data: \[DONE\]\n\n$/)
    expect(await server.ended).toBe(0)
  })

  it('exits immediately on a later second signal', async () => {
    const server = await start()
    const rest = await longStream(server)
    server.signal('SIGTERM')
    await server.waitForOutput(/SIGTERM/)
    await new Promise((resolve) => setTimeout(resolve, 600))
    server.signal('SIGTERM')
    expect(await server.ended).toBe(1)
    await expect(rest()).rejects.toThrow()
  })
})
