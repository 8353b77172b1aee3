import { createCanceller } from '@modelgate/core'
import { expect, test, vi } from 'vitest'
import { serve } from '../testing/server.ts'
import { mediaFetcher } from './media-fetcher.ts'

/** Addresses of each name: those of the first lookup, and those of later ones. */
const names: Record<string, string[][]> = {
  'mixed.test': [['8.8.8.8', '127.0.0.1']],
  'mapped.test': [['::ffff:127.0.0.1']],
  'rebound.test': [['127.0.0.1'], ['127.0.0.2']],
}
const looked: string[] = []
vi.mock('node:dns/promises', () => ({
  async lookup(name: string) {
    looked.push(name)
    const left = names[name] ?? []
    const addresses = (left.length > 1 ? left.shift() : left[0]) ?? []
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  },
}))

const { fetch } = mediaFetcher({ hosts: ['*.test'], insecure: true })

test.each(['mixed.test', 'mapped.test', 'unknown.test'])(
  'rejects the name %s, because one of its addresses is private',
  async (name) => {
    // The same text as for an unreachable host, so that clients cannot probe the private network.
    await expect(fetch(new URL(`http://${name}/`), createCanceller())).rejects.toMatchObject({
      message: 'the host of the URL could not be reached',
      cause: { message: `'${name}' is not on the public internet` },
    })
  },
)

test('connects to the checked address even if the name resolves to another one afterwards', async () => {
  const { port } = await serve((_req, res) => res.setHeader('content-type', 'image/gif').end('GIF89a'))
  const seen: string[] = []
  const { fetch } = mediaFetcher({
    hosts: ['*.test'],
    insecure: true,
    // Only the first address is allowed, and only there a server listens.
    allowAddress: (address) => seen.push(address) > 0 && address === '127.0.0.1',
  })
  const media = await fetch(new URL(`http://rebound.test:${port}/`), createCanceller())
  expect(media.mediaType).toBe('image/gif')
  expect(seen).toEqual(['127.0.0.1'])
  expect(looked.filter((name) => name === 'rebound.test')).toHaveLength(1)
})
