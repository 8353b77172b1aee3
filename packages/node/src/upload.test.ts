import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import type { IncomingMessage, RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { gzipSync } from 'node:zlib'
import { createGateway, type GatewayConfig, openai } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it, vi } from 'vitest'
import { nodeListener } from './server/handler.ts'
import { dial, serve } from './testing/server.ts'

const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A file that is difficult for parsers: every byte value, line breaks and dashes. */
const hostile = (size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, index) =>
    index % 97 < 20 ? '\r\n------x--\0\r\n--'.charCodeAt((index % 97) % 16) : (index * 31) % 256,
  )

interface Arrived {
  readonly model: string
  readonly files: readonly { readonly name: string; readonly filename: string; readonly sha: string }[]
}

/** An upstream that reports the received upload, parsed by a different parser than core's. */
async function start(config: Partial<GatewayConfig> = {}, wrap?: (gateway: RequestListener) => RequestListener) {
  const calls: (Arrived & { readonly length: string | undefined })[] = []
  const upstream = await serve(async (req, res) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of req) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    const form = await new Response(Buffer.concat(chunks), {
      headers: { 'content-type': req.headers['content-type'] ?? '' },
    }).formData()
    const files = await Promise.all(
      [...form.entries()].flatMap(([name, value]) =>
        typeof value === 'string'
          ? []
          : [value.arrayBuffer().then((bytes) => ({ name, filename: value.name, sha: sha(new Uint8Array(bytes)) }))],
      ),
    )
    calls.push({ model: String(form.get('model')), files, length: req.headers['content-length'] })
    res.setHeader('content-type', 'application/json')
    res.end('{"text":"heard"}')
  })
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openai({ baseURL: `${upstream.url}/v1` }) },
    models: { alias: { upstream: 'up', model: 'whisper-1' } },
    logger: false,
    ...config,
  } as GatewayConfig)
  const listener = nodeListener(gateway)
  const { url, port } = await serve(wrap?.(listener) ?? listener)
  const send = (body: BodyInit, headers: Record<string, string> = {}) =>
    fetch(`${url}/v1/audio/transcriptions`, {
      method: 'POST',
      body,
      headers,
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    } as RequestInit)
  return { calls, send, port }
}

function form(bytes: Uint8Array, filename = 'a.wav'): FormData {
  const data = new FormData()
  data.append('file', new File([bytes as BlobPart], filename, { type: 'audio/wav' }))
  data.append('model', 'alias')
  return data
}

describe('an upload over node:http', () => {
  it.each([0, 1, 1000, 1024 * 1024, 1024 * 1024 + 1, 5_000_000])('of %i bytes arrives unchanged', async (size) => {
    const { calls, send } = await start()
    const bytes = hostile(size)
    const reply = await send(form(bytes, 'ä "1" 日本.wav'))
    expect([reply.status, await reply.json()]).toEqual([200, { text: 'heard' }])
    expect(calls).toMatchObject([
      { model: 'whisper-1', files: [{ name: 'file', filename: 'ä "1" 日本.wav', sha: sha(bytes) }] },
    ])
    expect(Number(calls[0]?.length)).toBeGreaterThan(size)
  })

  it('is accepted without a length and compressed', async () => {
    const { calls, send } = await start()
    const bytes = hostile(2_000_000)
    const whole = new Response(form(bytes))
    const type = whole.headers.get('content-type') ?? ''
    const raw = new Uint8Array(await whole.arrayBuffer())
    expect((await send(new Blob([raw]).stream(), { 'content-type': type })).status).toBe(200)
    expect((await send(gzipSync(raw), { 'content-type': type, 'content-encoding': 'gzip' })).status).toBe(200)
    expect(calls.map(({ files }) => files[0]?.sha)).toEqual([sha(bytes), sha(bytes)])
    const odd = await send(raw, { 'content-type': type, 'content-encoding': 'odd' })
    const broken = await send(raw, { 'content-type': type, 'content-encoding': 'gzip' })
    expect([odd.status, broken.status]).toEqual([415, 400])
  })

  it('that exceeds the limit is rejected with 413, with and without a length or compression', async () => {
    const { calls, send } = await start({ limits: { uploadBytes: 100_000, bodyBytes: 1000 } })
    const whole = new Response(form(new Uint8Array(200_000)))
    const type = whole.headers.get('content-type') ?? ''
    const raw = new Uint8Array(await whole.arrayBuffer())
    const replies = await Promise.all([
      send(raw, { 'content-type': type }),
      send(new Blob([raw]).stream(), { 'content-type': type }),
      send(gzipSync(raw), { 'content-type': type, 'content-encoding': 'gzip' }),
    ])
    expect(replies.map(({ status }) => status)).toEqual([413, 413, 413])
    expect(await replies[0]?.json()).toMatchObject({ error: { code: 'request_too_large' } })
    expect((await send(form(new Uint8Array(50_000)))).status).toBe(200)
    expect(calls).toHaveLength(1)
  })

  it('that is malformed is rejected before its end', async () => {
    const { port } = await start()
    const { socket, received } = dial(port)
    socket.write(
      'POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 100000000\r\n\r\n--b\r\nno header\r\n\r\n',
    )
    await until(() => received().includes('malformed'), 'the error about a malformed form')
    expect(received()).toMatch(/^HTTP\/1.1 400 /)
  })

  it('leaves no file behind, even when the client disconnects during the upload', async () => {
    const own = async () =>
      (await readdir(tmpdir())).filter((name) => /^modelgate-[0-9a-f]{8}-[0-9a-f]{4}-/.test(name)).sort()
    const before = await own()
    const { port, send, calls } = await start()
    const { socket } = dial(port)
    socket.write(
      'POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 100000000\r\n\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n',
    )
    socket.write(Buffer.alloc(3_000_000))
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    expect((await send(form(hostile(3_000_000)))).status).toBe(200)
    // Other processes may create and delete files meanwhile.
    await vi.waitFor(async () => expect((await own()).filter((name) => !before.includes(name))).toEqual([]))
    expect(calls).toHaveLength(1)
  })
})

describe('a gateway behind a body parser', () => {
  type Parsed = IncomingMessage & { body?: unknown; rawBody?: unknown }
  const after =
    (parse: (req: Parsed, bytes: Buffer) => void) =>
    (gateway: RequestListener): RequestListener =>
    async (req, res) => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      parse(req, Buffer.concat(chunks))
      gateway(req, res)
    }

  it.each<[string, (req: Parsed, bytes: Buffer) => void]>([
    ['as rawBody', (req, bytes) => Object.assign(req, { rawBody: bytes, body: {} })],
    ['as a raw body', (req, bytes) => Object.assign(req, { body: bytes })],
  ])('accepts an upload whose bytes were kept %s', async (_how, parse) => {
    const { calls, send } = await start({}, after(parse))
    const bytes = hostile(5000)
    expect((await send(form(bytes))).status).toBe(200)
    expect(calls[0]?.files[0]?.sha).toBe(sha(bytes))
  })

  it.each<[string, (req: Parsed, bytes: Buffer) => void]>([
    ['already split into fields', (req) => Object.assign(req, { body: { model: 'alias' }, files: [{}] })],
    ['converted to text', (req, bytes) => Object.assign(req, { body: bytes.toString() })],
    ['discarded', () => {}],
  ])('rejects an upload that was %s and explains the fix', async (_how, parse) => {
    const logged: unknown[] = []
    const logger = { warn: (...all: unknown[]) => logged.push(all), error: (...all: unknown[]) => logged.push(all) }
    const { calls, send } = await start({ logger }, after(parse))
    const reply = await send(form(hostile(5000)))
    expect(reply.status).toBe(500)
    expect(((await reply.json()) as { error: { message: string } }).error.message).toContain('read the upload')
    expect(String(logged)).toContain('Mount the gateway before')
    expect(calls).toEqual([])
  })

  it('accepts an upload that the parser left unread', async () => {
    const wrap =
      (gateway: RequestListener): RequestListener =>
      (req, res) =>
        gateway(Object.assign(req, { body: {} }), res)
    const { calls, send } = await start({}, wrap)
    expect((await send(form(hostile(5000)))).status).toBe(200)
    expect(calls).toHaveLength(1)
  })
})

describe('a binary response over node:http', () => {
  async function speaking(answer: RequestListener) {
    const upstream = await serve(answer)
    const gateway = createGateway({
      auth: 'none',
      upstreams: { up: openai({ baseURL: `${upstream.url}/v1` }) },
      models: { tts: 'up' },
      logger: false,
    })
    const { url } = await serve(nodeListener(gateway))
    return () =>
      fetch(`${url}/v1/audio/speech`, {
        method: 'POST',
        body: JSON.stringify({ model: 'tts', input: 'x', voice: 'alloy' }),
        headers: { 'content-type': 'application/json' },
      })
  }

  it.each([
    ['with its length', { 'content-length': '300000' }],
    ['in chunks', {}],
  ])('that is sent %s is complete, or the connection is closed', async (_how, headers) => {
    const sound = Buffer.alloc(300_000, 'sound')
    const whole = await speaking((_req, res) => {
      res.writeHead(200, { 'content-type': 'audio/mpeg', ...headers })
      res.end(sound)
    })
    const reply = await whole()
    expect([reply.headers.get('content-type'), sha(new Uint8Array(await reply.arrayBuffer()))]).toEqual([
      'audio/mpeg',
      sha(sound),
    ])
    const cut = await speaking((_req, res) => {
      res.writeHead(200, { 'content-type': 'audio/mpeg', ...headers })
      res.write(sound.subarray(0, 100_000))
      setTimeout(() => res.destroy(), 20)
    })
    await expect(cut().then((broken) => broken.arrayBuffer())).rejects.toThrow()
  })
})
