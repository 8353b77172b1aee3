import { describe, expect, it } from 'vitest'
import type { RequestEvent } from './events.ts'
import { requestAttributes } from './request-attributes.ts'

const of = (
  format: RequestEvent['format'],
  body: RequestEvent['body'],
  operation: RequestEvent['operation'] = 'generate',
) => requestAttributes({ format, body, operation })

describe('the attributes of a request', () => {
  it.each<[RequestEvent['format'], RequestEvent['body'], object]>([
    [
      'chat',
      {
        max_completion_tokens: 9,
        max_tokens: 8,
        temperature: 0,
        top_p: 0.5,
        top_k: 40,
        stop: 'END',
        seed: 7,
        frequency_penalty: 0.1,
        presence_penalty: -0.2,
        n: 3,
        response_format: { type: 'json_schema', json_schema: { name: 'secret' } },
      },
      {
        'gen_ai.request.max_tokens': 9,
        'gen_ai.request.temperature': 0,
        'gen_ai.request.top_p': 0.5,
        'gen_ai.request.top_k': 40,
        'gen_ai.request.stop_sequences': ['END'],
        'gen_ai.request.seed': 7,
        'gen_ai.request.frequency_penalty': 0.1,
        'gen_ai.request.presence_penalty': -0.2,
        'gen_ai.request.choice.count': 3,
        'gen_ai.output.type': 'json',
      },
    ],
    ['chat', { n: 1, modalities: ['text', 'audio'] }, { 'gen_ai.output.type': 'speech' }],
    [
      'messages',
      { max_tokens: 9, stop_sequences: ['a', 'b'], top_k: 5, output_config: { format: { type: 'json_schema' } } },
      {
        'gen_ai.request.max_tokens': 9,
        'gen_ai.request.stop_sequences': ['a', 'b'],
        'gen_ai.request.top_k': 5,
        'gen_ai.output.type': 'json',
      },
    ],
    [
      'gemini',
      {
        generationConfig: {
          maxOutputTokens: 9,
          topP: 0.5,
          topK: 40,
          stopSequences: ['x'],
          seed: 7,
          candidateCount: 2,
          responseMimeType: 'application/json',
        },
      },
      {
        'gen_ai.request.max_tokens': 9,
        'gen_ai.request.top_p': 0.5,
        'gen_ai.request.top_k': 40,
        'gen_ai.request.stop_sequences': ['x'],
        'gen_ai.request.seed': 7,
        'gen_ai.request.choice.count': 2,
        'gen_ai.output.type': 'json',
      },
    ],
    [
      'gemini',
      { generation_config: { max_output_tokens: 9, response_modalities: ['TEXT', 'IMAGE'] } },
      { 'gen_ai.request.max_tokens': 9, 'gen_ai.output.type': 'image' },
    ],
    [
      'responses',
      { max_output_tokens: 9, conversation: { id: 'conv_1' }, text: { format: { type: 'text' } } },
      { 'gen_ai.request.max_tokens': 9, 'gen_ai.conversation.id': 'conv_1', 'gen_ai.output.type': 'text' },
    ],
    ['responses', { conversation: 'conv_2' }, { 'gen_ai.conversation.id': 'conv_2' }],
  ])('are read from a %s request: %j', (format, body, attributes) => {
    expect(of(format, body)).toEqual(attributes)
  })

  it.each<[RequestEvent['operation'], RequestEvent['body'], object]>([
    [
      'embeddings',
      { dimensions: 256, encoding_format: 'base64' },
      { 'gen_ai.embeddings.dimension.count': 256, 'gen_ai.request.encoding_formats': ['base64'] },
    ],
    ['images', { n: 2 }, { 'gen_ai.request.choice.count': 2, 'gen_ai.output.type': 'image' }],
    ['speech', {}, { 'gen_ai.output.type': 'speech' }],
    [
      'transcriptions',
      { temperature: 0.2, response_format: 'srt' },
      { 'gen_ai.request.temperature': 0.2, 'gen_ai.output.type': 'text' },
    ],
  ])('are read for the operation %s', (operation, body, attributes) => {
    expect(of('chat', body, operation)).toEqual(attributes)
  })

  it('ignore fields of an unexpected type', () => {
    const odd = {
      temperature: '0.5',
      max_tokens: 1.5,
      stop: [1, {}],
      seed: null,
      n: true,
      response_format: 'json_object',
      __proto__: { top_p: 1 },
    }
    expect(of('chat', odd)).toEqual({})
    expect(of('gemini', { generationConfig: [] })).toEqual({})
    expect(of('responses', { text: 'json_schema', conversation: 3 })).toEqual({})
  })

  it('are cut to a bounded length', () => {
    const { 'gen_ai.request.stop_sequences': stop } = of('chat', {
      stop: Array.from({ length: 100 }, () => 'x'.repeat(1000)),
    })
    expect(stop).toHaveLength(16)
    expect((stop as string[])[0]).toHaveLength(64)
    expect(of('responses', { conversation: 'x'.repeat(1000) })['gen_ai.conversation.id']).toHaveLength(256)
  })
})
