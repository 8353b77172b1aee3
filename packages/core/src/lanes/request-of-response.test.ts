import { describe, expect, it } from 'vitest'
import { isObject, type JsonObject } from '../base/json/json.ts'
import type { ModelRequest, Part } from '../formats/ir.ts'
import { encode } from '../formats/messages/request.test-support.ts'
import { requestOfResponse } from './request-of-response.ts'

const long = 'long '.repeat(1000)
const seal = (data: string) => ({ issuer: 'messages', data }) as const

const request: ModelRequest = {
  model: 'claude-opus-4-8',
  stream: true,
  tools: { list: [{ type: 'function', name: 'find', description: long, schema: { type: 'object' } }] },
  turns: [
    { role: 'system', parts: [{ type: 'text', text: long }] },
    {
      role: 'user',
      parts: [
        { type: 'text', text: long },
        { type: 'media', kind: 'image', source: { type: 'base64', data: 'A'.repeat(4000) }, mediaType: 'image/png' },
      ],
    },
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: long, seal: seal('first'), at: '/messages/2/content/0' },
        { type: 'text', text: long },
        { type: 'reasoning', text: '', redacted: true, seal: seal('second'), at: '/messages/2/content/2' },
        { type: 'tool-call', id: 'toolu_1', name: 'find', input: JSON.stringify({ long }) },
        { type: 'tool-call', id: 'toolu_2', name: 'old_tool', input: '{}' },
      ],
    },
    {
      role: 'user',
      parts: [
        { type: 'tool-result', callId: 'toolu_1', parts: [{ type: 'text', text: long }] },
        { type: 'tool-result', callId: 'toolu_2', name: 'old_tool', parts: [{ type: 'text', text: long }] },
        { type: 'native', format: 'messages', value: { type: 'container_upload', file_id: long } },
      ],
    },
  ],
}

/** The number of blocks in each message, and the seals by their place. */
function blocksOf({ messages: list }: JsonObject) {
  const messages = Array.isArray(list) ? list.filter(isObject) : []
  return messages.map(({ role, content }) =>
    Array.isArray(content)
      ? [role, content.map((block) => (isObject(block) ? (block.signature ?? block.data ?? 'block') : block))]
      : [role, 'text'],
  )
}

const encoded = (given: ModelRequest): JsonObject => encode(given, given.model).out

describe('the request during its streamed response', () => {
  const kept = requestOfResponse(request)

  it('has every block and seal in the same place', () => {
    expect(blocksOf(encoded(kept))).toEqual(blocksOf(encoded(request)))
    expect(blocksOf(encoded(kept))).toMatchObject([
      {},
      ['assistant', ['first', 'block', 'second', 'block', 'block']],
      {},
    ])
  })

  it('keeps tools, names and places, and no content of a turn', () => {
    expect(kept.tools).toBe(request.tools)
    const parts = kept.turns.flatMap((turn): Part[] => turn.parts)
    expect(parts.flatMap((part) => ('name' in part ? [part.name] : []))).toEqual(['find', 'old_tool', 'old_tool'])
    expect(parts.flatMap((part) => (part.type === 'reasoning' ? [part.at] : []))).toEqual([
      '/messages/2/content/0',
      '/messages/2/content/2',
    ])
    expect(JSON.stringify(kept.turns)).not.toContain('long')
  })
})
