import { beforeEach, describe, expect, it, vi } from 'vitest'
import { preload } from './preload.ts'
import { anthropic } from './upstreams/anthropic.ts'
import { voyage } from './upstreams/voyage.ts'

const loaded = vi.hoisted(() => ({ parts: [] as string[], fails: '' }))

vi.mock('./formats/wire.ts', () => {
  const part = (name: string) => async () => {
    if (name === loaded.fails) throw new Error('no such file')
    loaded.parts.push(name)
  }
  const codecs = new Map(
    ['chat', 'messages'].map((name) => [
      name,
      { validation: part(`${name} validation`), whole: part(`${name} whole`) },
    ]),
  )
  return { clientFormats: ['chat', 'messages'], wireCodecOf: (format: string) => codecs.get(format) }
})
vi.mock('./lanes/choose.ts', () => ({ translator: () => loaded.parts.push('translator') }))

const settled = () => new Promise((resolve) => setTimeout(resolve))
const claude = { claude: anthropic({ apiKey: 'k' }) }

describe('what is loaded before the first call', () => {
  beforeEach(() => {
    loaded.parts = []
    loaded.fails = ''
  })

  it('is what calls can need, once each, beginning with the formats that upstreams speak', async () => {
    preload(claude, () => false)
    await settled()
    const checks = ['messages validation', 'chat validation']
    expect(loaded.parts).toEqual([...checks, 'translator', 'messages whole', 'chat whole'])
  })

  it('is no more once a call has come', async () => {
    preload(claude, () => loaded.parts.length >= 2)
    await settled()
    expect(loaded.parts).toHaveLength(2)
  })

  it('is nothing where nobody chats', async () => {
    preload({ vectors: voyage({ apiKey: 'k' }) }, () => false)
    await settled()
    expect(loaded.parts).toEqual([])
  })

  it('ends quietly where something cannot be loaded', async () => {
    loaded.fails = 'chat validation'
    preload(claude, () => false)
    await settled()
    expect(loaded.parts).toEqual(['messages validation'])
  })
})
