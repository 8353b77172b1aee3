import { describe, expect, it } from 'vitest'
import { codecLoaders, registerFormats, wireCodecs } from '../formats/codec-registry.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { voyage } from '../upstreams/voyage.ts'
import { fullEdition } from './full-edition.ts'
import { loadInTurn, preload, preloadedParts } from './preload.ts'

registerFormats(fullEdition.formats)

describe('preloaded modules', () => {
  const parts = preloadedParts(fullEdition, { claude: anthropic({ apiKey: 'k' }) })

  it('start with the format of the upstreams, and its request check', async () => {
    const [loadFormat, loadCheck] = parts
    await loadFormat?.()
    const { messages } = wireCodecs
    await loadCheck?.()
    expect(messages.loadRequestCheck()).toBeTypeOf('function')
  })

  it('include the translation, and then the codecs, those of the upstreams first', () => {
    const inOrder = [fullEdition.parts.loadTranslation, codecLoaders.messages, codecLoaders.chat]
    expect(parts.filter((part) => (inOrder as unknown[]).includes(part))).toEqual(inOrder)
  })

  it('contain no duplicates', () => {
    expect(new Set(parts).size).toBe(parts.length)
  })

  it('are empty if no upstream serves chat', () => {
    expect(preloadedParts(fullEdition, { vectors: voyage({ apiKey: 'k' }) })).toEqual([])
  })

  it('can all be loaded', async () => {
    for (const part of parts) await part()
  })
})

describe('preloading', () => {
  /** Creates loaders that record their numbers. */
  function recorded(count: number) {
    const loaded: number[] = []
    const loaders = Array.from({ length: count }, (_, at) => async () => void loaded.push(at))
    return { loaded, loaders }
  }

  it('loads one module after another', async () => {
    const { loaded, loaders } = recorded(3)
    await loadInTurn(loaders, () => false)
    expect(loaded).toEqual([0, 1, 2])
  })

  it('stops at the first call', async () => {
    const { loaded, loaders } = recorded(3)
    await loadInTurn(loaders, () => loaded.length === 2)
    expect(loaded).toEqual([0, 1])
  })

  it('stops at a module that cannot be loaded', async () => {
    const { loaded, loaders } = recorded(1)
    const missing = () => Promise.reject(new Error('no such file'))
    await expect(loadInTurn([...loaders, missing, ...loaders], () => false)).rejects.toThrow('no such file')
    expect(loaded).toEqual([0])
  })

  it('causes no unhandled rejection', async () => {
    const fail = () => {
      throw new Error('no such file')
    }
    preload(fullEdition, { claude: anthropic({ apiKey: 'k' }) }, fail)
    // Vitest fails on unhandled rejections.
    await new Promise((resolve) => setTimeout(resolve))
  })
})
