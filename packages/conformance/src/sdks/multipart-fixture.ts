import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGateway, type Gateway, type GatewayConfig, gemini, openai } from '@modelgate/core'
import type OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { objectOf, parseJson } from '../base/json.ts'
import { openaiClient } from '../base/sdk-clients.ts'
import type { Running, ServerKind } from '../base/servers.ts'

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** One call as the upstream received it. The runtime's own parser parses uploads, not the gateway's. */
export interface MediaCall {
  readonly path: string
  readonly fields: Readonly<Record<string, readonly string[]>>
  readonly files: readonly {
    readonly name: string
    readonly filename: string
    readonly type: string
    readonly sha256: string
  }[]
  readonly json: Readonly<Record<string, unknown>>
}

export interface MediaUpstream {
  readonly origin: string
  readonly calls: MediaCall[]
  answer: (call: MediaCall, res: ServerResponse) => void
  close(): Promise<void>
}

async function readCall(req: IncomingMessage): Promise<MediaCall> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const path = req.url ?? ''
  const type = req.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/'))
    return { path, fields: {}, files: [], json: objectOf(parseJson(bytes.toString())) }
  const fields: Record<string, string[]> = {}
  const files: MediaCall['files'][number][] = []
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData()
  for (const [name, value] of form.entries())
    if (typeof value === 'string') fields[name] = [...(fields[name] ?? []), value]
    else
      files.push({
        name,
        filename: value.name,
        type: value.type,
        sha256: sha256(new Uint8Array(await value.arrayBuffer())),
      })
  return { path, fields, files, json: {} }
}

export async function startMediaUpstream(): Promise<MediaUpstream> {
  const server = createServer((req, res) => {
    readCall(req).then(
      (call) => {
        upstream.calls.push(call)
        upstream.answer(call, res)
      },
      () => res.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const upstream: MediaUpstream = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    answer: (_call, res) => void res.writeHead(500).end(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return upstream
}

/** `alias` is the upstream's `real` in OpenAI's dialect; `gemini-…` and `imagen-…` use Google's. */
export const mediaGateway = ({ origin }: MediaUpstream, config: Partial<GatewayConfig> = {}): Gateway =>
  createGateway({
    auth: (token) => (token === 'good' ? { id: 'me' } : null),
    upstreams: {
      openai: openai({ apiKey: 'upstream-key', baseURL: `${origin}/v1` }),
      google: gemini({ apiKey: 'upstream-key', baseURL: origin }),
    },
    models: { alias: { upstream: 'openai', model: 'real' }, 'gemini-*': 'google', 'imagen-*': 'google' },
    logger: false,
    ...config,
  } as GatewayConfig)

/** Fixture during the tests of a server. */
export interface MediaFixture {
  readonly upstream: MediaUpstream
  readonly running: Running
  readonly client: OpenAI
}

/**
 * Starts a gateway on a server with OpenAI's client and an upstream, whose recorded calls are cleared before each test.
 */
export function useMediaFixture(server: ServerKind, begin: (setting: MediaFixture) => void): void {
  let close: (() => Promise<void>) | undefined
  let calls: MediaCall[] = []
  beforeAll(async () => {
    const upstream = await startMediaUpstream()
    const running = await server.start(mediaGateway(upstream))
    calls = upstream.calls
    close = async () => {
      await running.close()
      await upstream.close()
    }
    begin({ upstream, running, client: openaiClient({ ...running, token: 'good' }) })
  })
  beforeEach(() => void calls.splice(0))
  afterAll(() => close?.())
}

export const jsonResponse = (res: ServerResponse, body: unknown): void => {
  res.setHeader('content-type', 'application/json')
  res.end(typeof body === 'string' ? body : JSON.stringify(body))
}
export const eventResponse = (res: ServerResponse, text: string): void => {
  res.setHeader('content-type', 'text/event-stream')
  res.end(text)
}
