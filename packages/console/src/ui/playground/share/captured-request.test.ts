import { describe, expect, it } from 'vitest'
import { buildRequest } from '../formats/build-request.ts'
import type { JsonObject } from '../formats/format.ts'
import { formatNamed } from '../formats/index.ts'
import { readDraft } from '../settings/draft.ts'
import { readShared } from './shared-draft.ts'

const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
const tool = { type: 'function', function: { name: 'f', parameters: {} } }

/** Requests by format: whether the messages fit into the prompt, and members that the Playground always adds. */
const requests: readonly [format: string, isPlain: boolean, added: JsonObject, body: JsonObject][] = [
  ['chat', true, {}, { messages: [{ role: 'user', content: 'Hi' }] }],
  [
    'chat',
    true,
    {},
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      temperature: 0.5,
      max_completion_tokens: 9,
      top_p: 0.9,
      seed: 7,
      reasoning_effort: 'low',
      stop: ['a', 'b'],
      tools: [tool],
      unknown: { deep: [1, null] },
    },
  ],
  ['chat', false, {}, { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, image] }], max_tokens: 5 }],
  [
    'chat',
    false,
    {},
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
        { role: 'user', content: 'Bye' },
      ],
    },
  ],
  ['chat', false, {}, { messages: [{ role: 'user', name: 'Ada', content: 'Hi' }] }],
  [
    'chat',
    true,
    { stream: true, stream_options: { include_usage: true } },
    { messages: [{ role: 'user', content: 'Hi' }] },
  ],
  ['messages', true, {}, { max_tokens: 5, system: 'Be brief.', messages: [{ role: 'user', content: 'Hi' }], top_k: 3 }],
  [
    'messages',
    false,
    {},
    {
      max_tokens: 5,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'Hi' }],
    },
  ],
  [
    'gemini',
    true,
    {},
    {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: { temperature: 1, topK: 3, maxOutputTokens: 4, topP: 0.5, seed: 1 },
      safetySettings: [],
    },
  ],
  ['gemini', false, {}, { contents: [{ role: 'user', parts: [{ text: 'Hi' }, { text: 'there' }] }] }],
  [
    'responses',
    true,
    { store: false },
    { input: [{ role: 'user', content: 'Hi' }], instructions: 'Be brief.', max_output_tokens: 5 },
  ],
  [
    'responses',
    false,
    {},
    { input: [{ type: 'item_reference', id: 'msg_1' }], store: true, reasoning: { effort: 'low' } },
  ],
]

describe('a captured request', () => {
  it.each(requests)(
    'of %s is sent again without a loss (fits into the prompt: %s, added: %j)',
    (id, isPlain, added, body) => {
      const format = formatNamed(id)
      const stream = added.stream === true
      const model = id === 'gemini' ? {} : { model: 'a/model' }
      const link = { v: 1, format: id, model: 'a/model', stream, request: { ...model, ...body } }
      const shared = readShared(link)
      if (shared === undefined) throw new Error('The link is damaged')
      expect(shared.replacesPrompt).toBe(!isPlain)
      expect(shared.prompt).not.toBe('')
      const { settings } = readDraft(shared.draft)
      if (settings === undefined) throw new Error('The settings are wrong')
      const request = buildRequest(format, [{ role: 'user', text: shared.prompt, images: [] }], settings)
      expect(request.body).toEqual({ ...model, ...body, ...added })
      expect(request.path).toContain(id === 'gemini' ? 'a/model:generateContent' : '/v1/')
    },
  )

  it.each([
    [{ input: 'Hi' }, 'Hi', false],
    [{ input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }] }, 'Hi', false],
    [{ input: [] }, 'The messages are in the extra JSON.', true],
    [
      {
        input: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'x' },
        ],
      },
      'Hi',
      true,
    ],
  ])('shows its last question: %j', (request, prompt, replacesPrompt) => {
    expect(readShared({ v: 1, format: 'responses', request })).toMatchObject({ prompt, replacesPrompt })
  })

  it('does not change the request that it reads', () => {
    const request = { generationConfig: { temperature: 1 }, contents: [] }
    readShared({ v: 1, format: 'gemini', request })
    expect(request).toEqual({ generationConfig: { temperature: 1 }, contents: [] })
  })
})
