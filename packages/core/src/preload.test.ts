import { describe, expect, it } from 'vitest'
import { codecLoaders } from './formats/load-codec.ts'
import { wireCodecOf } from './formats/wire.ts'
import { translator } from './lanes/choose.ts'
import { loadInTurn, partsFor } from './preload.ts'
import { outliner } from './read-request.ts'
import { anthropic } from './upstreams/anthropic.ts'
import { voyage } from './upstreams/voyage.ts'

const settled = () => new Promise((resolve) => setTimeout(resolve))

describe('partsFor', () => {
  const parts = partsFor({ claude: anthropic({ apiKey: 'k' }) })
  const validations = (['messages', 'chat', 'gemini', 'responses'] as const).map(
    (format) => wireCodecOf(format).validation,
  )

  it('begins with the validation of the formats that the upstreams speak', () => {
    expect(parts.slice(0, validations.length)).toEqual(validations)
  })

  it('lists each whole codec once, upstream formats first, between the translator and the outline parser', () => {
    const { messages, chat, gemini, responses } = codecLoaders
    expect(parts.slice(parts.indexOf(translator))).toEqual([translator, messages, chat, gemini, responses, outliner])
  })

  it('is empty if no upstream serves a chat format', () => {
    expect(partsFor({ vectors: voyage({ apiKey: 'k' }) })).toEqual([])
  })
})

describe('loadInTurn', () => {
  const recorded = (fails = '') => {
    const loaded: string[] = []
    const parts = ['one', 'two', 'three'].map((name) => async () => {
      if (name === fails) throw new Error('no such file')
      loaded.push(name)
    })
    return { loaded, parts }
  }

  it('loads each part in the given order', async () => {
    const { loaded, parts } = recorded()
    loadInTurn(parts, () => false)
    await settled()
    expect(loaded).toEqual(['one', 'two', 'three'])
  })

  it('stops once a call has arrived', async () => {
    const { loaded, parts } = recorded()
    loadInTurn(parts, () => loaded.length >= 2)
    await settled()
    expect(loaded).toEqual(['one', 'two'])
  })

  it('stops without an unhandled rejection if a part cannot be loaded', async () => {
    const { loaded, parts } = recorded('two')
    loadInTurn(parts, () => false)
    await settled()
    expect(loaded).toEqual(['one'])
  })
})
