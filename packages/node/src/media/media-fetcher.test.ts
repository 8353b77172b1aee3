import type { RequestListener } from 'node:http'
import { createCanceller, GatewayError } from '@modelgate/core'
import { describe, expect, test } from 'vitest'
import { serve } from '../testing/server.ts'
import { type MediaFetcherOptions, mediaFetcher } from './media-fetcher.ts'

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

interface Place {
  readonly port: number
  readonly requests: { url: string; headers: Record<string, unknown> }[]
}

/** A host on this machine, which the tests must allow. */
async function place(listener: RequestListener): Promise<Place> {
  const requests: Place['requests'] = []
  const { port } = await serve((req, res) => {
    requests.push({ url: req.url ?? '', headers: req.headers })
    listener(req, res)
  })
  return { port, requests }
}

const here: MediaFetcherOptions = { hosts: ['localhost', '127.0.0.1'], insecure: true, allowAddress: () => true }
const get = (url: string, options: Partial<MediaFetcherOptions> = {}, signal = createCanceller()) =>
  mediaFetcher({ ...here, ...options }).fetch(new URL(url), signal)
const failure = (fetching: Promise<unknown>): Promise<string> =>
  fetching.then(
    () => 'it was fetched',
    (error: unknown) => (error instanceof GatewayError ? error.message : `no GatewayError: ${String(error)}`),
  )

describe('allowed URLs', () => {
  const { allows } = mediaFetcher({ hosts: ['images.example.com', '*.cdn.example.net'] })

  test.each([
    'https://images.example.com/a.png',
    'https://IMAGES.example.com/',
    'https://x.cdn.example.net/a?b',
    'https://a.b.cdn.example.net/',
  ])('allows %s', (url) => expect(allows(new URL(url))).toBe(true))

  test.each([
    'http://images.example.com/a.png',
    'https://images.example.com:8443/a.png',
    'https://user@images.example.com/a.png',
    'https://:pass@images.example.com/a.png',
    'https://example.com/',
    'https://cdn.example.net/',
    'https://xcdn.example.net/',
    'https://images.example.com.evil.test/',
    'https://images.example.com./',
    'https://evil.test/images.example.com',
    'https://evil.test#images.example.com',
    'https://127.0.0.1/',
    'ftp://images.example.com/',
    'file:///etc/passwd',
    'data:image/png;base64,AAAA',
  ])('does not allow %s', (url) => expect(allows(new URL(url))).toBe(false))

  test.each([
    'https://images.example.com',
    'images.example.com:443',
    'images.example.com/a',
    '*',
    'a*.example.com',
    '',
  ])('rejects %s in hosts and names the correct form', (host) =>
    expect(() => mediaFetcher({ hosts: [host] })).toThrow(/write 'images.example.com'/),
  )
})

describe('a fetched file', () => {
  test('is returned as bytes with its type, and no header of the client is sent', async () => {
    const { port, requests } = await place((_req, res) => res.setHeader('content-type', 'image/PNG; q=1').end(png))
    const media = await get(`http://localhost:${port}/a.png?b=c`)
    expect(media).toEqual({ bytes: png, mediaType: 'image/png' })
    expect(requests[0]?.url).toBe('/a.png?b=c')
    expect(Object.keys(requests[0]?.headers ?? {}).sort()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ])
  })

  test('gets its type from its first bytes if its host sends none', async () => {
    const { port } = await place((_req, res) => res.setHeader('content-type', 'application/octet-stream').end(png))
    expect((await get(`http://localhost:${port}/`)).mediaType).toBe('image/png')
  })

  test.each<[string, RequestListener, Partial<MediaFetcherOptions>, RegExp]>([
    [
      'too large according to its content-length',
      (_req, res) => res.writeHead(200, { 'content-type': 'image/png', 'content-length': 5000 }).write('x'),
      { maxBytes: 1000 },
      /larger than 1000 bytes/,
    ],
    [
      'too large without a content-length',
      (_req, res) => void res.writeHead(200, { 'content-type': 'image/png' }).write(Buffer.alloc(5000)),
      { maxBytes: 1000 },
      /larger than 1000 bytes/,
    ],
    [
      'of a type that is not accepted',
      (_req, res) => res.setHeader('content-type', 'text/html').end('<p>'),
      {},
      /type 'text\/html'/,
    ],
    ['of no type', (_req, res) => res.end('who knows'), {}, /does not send the type/],
    [
      'of an unknown type with the bytes of one that is not accepted',
      (_req, res) => res.end(png),
      { types: ['application/pdf'] },
      /does not send the type/,
    ],
    ['an error response', (_req, res) => res.writeHead(404).end(), {}, /returned status 404/],
    [
      'compressed',
      (_req, res) => res.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' }).end(png),
      {},
      /with a content-encoding/,
    ],
    ['not sent within the timeout', () => {}, { timeoutMs: 100 }, /longer than 100 ms/],
    [
      'truncated',
      (_req, res) =>
        void res.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 }).write('x', () => res.destroy()),
      {},
      /could not be reached/,
    ],
    [
      'redirected to a host that is not allowed',
      (_req, res) => res.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      {},
      /redirects to a host that is not allowed/,
    ],
    ['in a redirect loop', (_req, res) => res.writeHead(302, { location: '/again' }).end(), {}, /more than 3 times/],
  ])('is rejected if it is %s', async (_name, listener, options, message) => {
    const { port } = await place(listener)
    expect(await failure(get(`http://localhost:${port}/`, options))).toMatch(message)
  })

  test('is fetched through an allowed redirect', async () => {
    const { port } = await place((req, res) => {
      if (req.url === '/a') res.writeHead(301, { location: '/b.png' }).end()
      else res.setHeader('content-type', 'image/png').end(png)
    })
    expect((await get(`http://localhost:${port}/a`)).bytes).toEqual(png)
  })

  test('is cancelled when the client disconnects', async () => {
    const { port } = await place(() => {})
    const signal = createCanceller()
    setTimeout(() => signal.abort(), 50)
    expect(await failure(get(`http://localhost:${port}/`, {}, signal))).toMatch(/the client disconnected/)
  })
})

describe('a host in the private network', () => {
  test.each(['http://localhost:PORT/', 'http://127.0.0.1:PORT/'])('receives no connection for %s', async (url) => {
    const { port, requests } = await place((_req, res) => res.setHeader('content-type', 'image/png').end(png))
    const { fetch } = mediaFetcher({ hosts: ['localhost', '127.0.0.1'], insecure: true })
    await expect(fetch(new URL(url.replace('PORT', String(port))), createCanceller())).rejects.toMatchObject({
      message: 'the host of the URL could not be reached',
      cause: { message: expect.stringContaining('is not on the public internet') },
    })
    expect(requests).toEqual([])
  })
})
