import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { ModelRequest, Part } from '../ir.ts'
import { encode, lossTexts, user } from './request.test-support.ts'

describe('request fields without a counterpart in messages', () => {
  const at = { 'sampling.seed': '/seed', 'sampling.choices': '/n' }
  test.each<[Partial<ModelRequest>, JsonObject, string[]]>([
    [{ sampling: { seed: 1, maxTokens: 9 }, at }, {}, ['/seed unsupported warn']],
    [{ sampling: { choices: 2, maxTokens: 9 }, at }, {}, ['/n unsupported fatal']],
    [{ sampling: { choices: 1, presencePenalty: 0, frequencyPenalty: 0, logitBias: {}, maxTokens: 9 } }, {}, []],
    [{ sampling: { temperature: 1.7, maxTokens: 9 } }, { temperature: 1 }, ['/sampling/temperature clamped warn']],
    [{ sampling: { temperature: 1, topP: 1, maxTokens: 9 } }, { temperature: 1 }, []],
    [
      { sampling: { temperature: 0.2, topP: 0.3, maxTokens: 9 } },
      { temperature: 0.2 },
      ['/sampling/topP unsupported warn'],
    ],
    [{ sampling: {} }, { max_tokens: 32_000 }, []],
    [{ sampling: { maxTokens: 100_000 } }, { max_tokens: 64_000 }, ['/sampling/maxTokens clamped warn']],
    [
      { sampling: { stop: ['\n', 'END'], maxTokens: 9 } },
      { stop_sequences: ['END'] },
      ['/sampling/stop unsupported warn'],
    ],
    [
      { sampling: { logitBias: { a: 1 }, presencePenalty: 1, frequencyPenalty: 1, maxTokens: 9 } },
      {},
      [
        '/sampling/logitBias unsupported warn',
        '/sampling/presencePenalty unsupported warn',
        '/sampling/frequencyPenalty unsupported warn',
      ],
    ],
    [
      {
        output: {
          modalities: ['text', 'audio'],
          audio: { voice: 'x' },
          logprobs: 2,
          verbosity: 'low',
          includeUsage: true,
        },
      },
      {},
      [
        '/output/modalities unsupported warn',
        '/output/audio unsupported warn',
        '/output/logprobs unsupported warn',
        '/output/verbosity unsupported warn',
      ],
    ],
    [{ output: { modalities: ['text'], verbosity: 'medium', format: { type: 'text' } } }, {}, []],
    [{ output: { format: { type: 'json' } } }, {}, ['/output/format unsupported warn']],
    [
      { output: { format: { type: 'json', schema: { type: 'object' }, name: 'n', strict: true } } },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      ['/output/format/name approximated note'],
    ],
    [
      { user: { id: 'u', cacheKey: 'k', safetyId: 's' } },
      { metadata: { user_id: 'u' } },
      ['/user/safetyId unsupported note', '/user/cacheKey unsupported note'],
    ],
    [{ user: { safetyId: 's' } }, { metadata: { user_id: 's' } }, []],
    [{ user: { id: 'u'.repeat(513) }, at: { 'user.id': '/user' } }, {}, ['/user unsupported note']],
    [
      { output: { logprobs: 2 }, at: { 'output.logprobs': '/logprobs', 'output.topLogprobs': '/top_logprobs' } },
      {},
      ['/logprobs unsupported warn', '/top_logprobs unsupported warn'],
    ],
    [{ metadata: { a: 'b' } }, {}, ['/metadata unsupported note']],
    [{ serviceTier: 'flex' }, {}, ['/serviceTier unsupported warn']],
    [{ serviceTier: 'default' }, { service_tier: 'standard_only' }, []],
    [{ extra: { chat: { prediction: {} } } }, {}, ['/prediction unsupported warn']],
    [
      {
        turns: [
          user({ type: 'media', kind: 'audio', source: { type: 'base64', data: 'x' }, at: '/messages/0/content/0' }),
        ],
      },
      {},
      ['/messages/0/content/0 unsupported fatal', ' unsupported fatal', '/messages approximated warn'],
    ],
    [
      {
        turns: [
          user('a', { type: 'media', kind: 'image', source: { type: 'url', url: 'https://x/y' }, detail: 'low' }),
        ],
      },
      {},
      [' unsupported note'],
    ],
    [
      { turns: [user('a', { type: 'native', format: 'chat', value: { type: 'video_url' } })] },
      {},
      [' unsupported warn'],
    ],
  ])('encodes and reports %j', (request, wire, losses) => {
    const { out, losses: found } = encode(request)
    expect(out).toMatchObject(wire)
    expect(lossTexts(found)).toEqual(losses)
  })

  test('sends no temperature to newer models and no schema to older ones, unless quirks say otherwise', () => {
    const sampling = { temperature: 0.5, maxTokens: 9 }
    expect(encode({ sampling }, 'claude-opus-4-7').out).not.toHaveProperty('temperature')
    expect(encode({ sampling }, 'claude-unheard-of').out.temperature).toBe(0.5)
    const output = { format: { type: 'json' as const, schema: {} } }
    expect(lossTexts(encode({ output }, 'claude-3-haiku').losses)).toEqual(['/output/format unsupported warn'])
    expect(encode({ sampling: {} }, 'x', { defaultMaxTokens: 77 }).out.max_tokens).toBe(77)
  })
})

describe('media of other formats', () => {
  const media = (fields: Partial<Part & { type: 'media' }>): Part =>
    ({ type: 'media', kind: 'document', source: { type: 'base64', data: 'JVBERi0=' }, ...fields }) as Part
  test.each<[string, Part, JsonObject | undefined, string[]]>([
    [
      'a PDF with a name',
      media({ name: 'a.pdf', mediaType: 'application/pdf' }),
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'a.pdf' },
      [],
    ],
    [
      'a PDF without a media type',
      media({}),
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
      [' approximated note'],
    ],
    [
      'a text file',
      media({ mediaType: 'text/csv', source: { type: 'base64', data: 'w6QsYg==' } }),
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ä,b' } },
      [],
    ],
    [
      'a text file that is not text',
      media({ mediaType: 'text/csv', source: { type: 'base64', data: '/w==' } }),
      undefined,
      [' unsupported fatal'],
    ],
    ['a word processor file', media({ mediaType: 'application/msword' }), undefined, [' unsupported fatal']],
    [
      "another provider's file",
      media({ source: { type: 'file', seal: { issuer: 'chat', data: 'f' } } }),
      undefined,
      [' unsupported fatal'],
    ],
    [
      'an image with a common alias of its media type',
      media({ kind: 'image', mediaType: 'image/jpg', source: { type: 'base64', data: '/9j/4A==' } }),
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4A==' } },
      [],
    ],
    [
      'an image of a type that Anthropic does not accept',
      media({ kind: 'image', mediaType: 'image/svg+xml' }),
      undefined,
      [' unsupported fatal'],
    ],
    [
      'an address that is not an HTTP URL',
      media({ kind: 'image', source: { type: 'url', url: 'gs://bucket/a.png' } }),
      undefined,
      [' unsupported fatal'],
    ],
    [
      'an image without a media type',
      media({ kind: 'image', source: { type: 'base64', data: '/9j/4A==' } }),
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4A==' } },
      [' approximated note'],
    ],
  ])('encodes or reports %s', (_, part, block, losses) => {
    const { out, losses: found } = encode({ turns: [user('a', part)] })
    const content = (out.messages as JsonObject[])[0]?.content
    expect(content).toEqual(block === undefined ? 'a' : [{ type: 'text', text: 'a' }, block])
    expect(lossTexts(found)).toEqual(losses)
  })
})
