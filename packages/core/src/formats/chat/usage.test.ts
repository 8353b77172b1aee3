import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { Usage } from '../ir.ts'
import { decodeUsage, encodeUsage } from './usage.ts'

describe('usage of chat upstreams', () => {
  test.each<[string, JsonObject, Usage['input'], Usage['output']]>([
    [
      'OpenAI',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
      { total: 10, cacheRead: 4, audio: 0 },
      { total: 5, reasoning: 2 },
    ],
    [
      'xAI, which counts reasoning separately from completion',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 35,
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      { total: 10 },
      { total: 25, reasoning: 20 },
    ],
    [
      "Google's compatible endpoint, which hides reasoning tokens",
      { prompt_tokens: 66, completion_tokens: 6, total_tokens: 100 },
      { total: 66 },
      { total: 34 },
    ],
    [
      'DeepSeek',
      { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 8 },
      { total: 10, cacheRead: 8 },
      { total: 5 },
    ],
    [
      'Mistral',
      { prompt_tokens: 10, completion_tokens: 5, num_cached_tokens: 3 },
      { total: 10, cacheRead: 3 },
      { total: 5 },
    ],
    [
      'an upstream that counts cache writes',
      { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cache_write_tokens: 6 } },
      { total: 10, cacheWrite: 6 },
      { total: 5 },
    ],
  ])('is decoded from %s', (_, usage, input, output) => {
    expect(decodeUsage(usage)).toEqual({
      input,
      output,
      raw: { format: 'chat', value: usage },
    })
  })

  test.each<[string, Json]>([
    ['null', null],
    ['an empty object', {}],
    ['words', { prompt_tokens: 'many' }],
  ])('is undefined for %s', (_, usage) => {
    expect(decodeUsage(usage)).toBeUndefined()
  })

  test('is encoded from another format with inclusive totals', () => {
    expect(
      encodeUsage({ input: { total: 10, cacheRead: 4, cacheWrite: 2 }, output: { total: 5, reasoning: 1 } }),
    ).toEqual({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: {
        cached_tokens: 4,
        cache_write_tokens: 2,
        text_tokens: 10,
        audio_tokens: 0,
        image_tokens: 0,
      },
      completion_tokens_details: { reasoning_tokens: 1, text_tokens: 4, audio_tokens: 0 },
    })
  })

  test('is encoded from another format with details, but without numbers that the upstream did not count', () => {
    const usage: Usage = { input: { total: 10 }, output: { total: 5 } }
    expect(encodeUsage(usage)).toMatchObject({
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    })
    expect(encodeUsage(usage, true).completion_tokens_details).toEqual({ audio_tokens: 0 })
    const bare = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    expect(encodeUsage({ ...usage, raw: { format: 'chat', value: bare } })).toEqual(bare)
  })
})
