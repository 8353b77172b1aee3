import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/types.ts'
import type { Format } from '../../base/names.ts'
import { codecs } from '../codecs.ts'
import { createReport } from '../loss-report.ts'
import { reportUsage } from './usage-report.ts'

const codecOf = (name: Format) => {
  const codec = codecs.find(({ format }) => format === name)
  if (codec === undefined) throw new Error(`no codec for ${name}`)
  return codec
}

function told(from: Format, to: Format, value: JsonObject): string[] {
  const report = createReport()
  const usage = { input: { total: 1 }, output: { total: 1 }, raw: { format: from, value } }
  reportUsage(usage, codecOf(from), codecOf(to), report)
  expect(report.losses.every(({ severity, kind }) => severity === 'note' && kind === 'unsupported')).toBe(true)
  return report.losses.map(({ path }) => path)
}

describe('what an upstream counted and a client is not shown', () => {
  const common: { readonly [F in Format]: JsonObject } = {
    chat: {
      prompt_tokens: 19,
      completion_tokens: 10,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 3,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    messages: {
      input_tokens: 3,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 6,
      server_tool_use: null,
      service_tier: 'standard',
      inference_geo: 'not_available',
    },
    gemini: {
      promptTokenCount: 4,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 5,
      totalTokenCount: 16,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 4 }],
    },
    responses: {
      input_tokens: 36,
      input_tokens_details: { cached_tokens: 2 },
      output_tokens: 87,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 123,
    },
  }
  test.each(codecs.flatMap((from) => codecs.map((to) => [from.format, to.format] as const)))(
    'is nothing in a common usage: %s → %s',
    (from, to) => {
      expect(told(from, to, common[from])).toEqual([])
    },
  )

  test.each<[Format, Format, JsonObject, string[]]>([
    ['messages', 'chat', { speed: 'fast', inference_geo: 'eu' }, ['/usage/speed', '/usage/inference_geo']],
    ['messages', 'gemini', { server_tool_use: { web_search_requests: 2 } }, ['/usage/server_tool_use']],
    ['messages', 'responses', { iterations: [{ type: 'message', input_tokens: 2 }] }, ['/usage/iterations']],
    [
      'messages',
      'chat',
      { cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 5 } },
      ['/usage/cache_creation/ephemeral_1h_input_tokens'],
    ],
    [
      'chat',
      'responses',
      { completion_tokens_details: { accepted_prediction_tokens: 4, reasoning_tokens: 1 } },
      ['/usage/completion_tokens_details/accepted_prediction_tokens'],
    ],
    [
      'chat',
      'messages',
      { prompt_tokens_details: { audio_tokens: 4 }, cost: 0.25 },
      ['/usage/prompt_tokens_details/audio_tokens', '/usage/cost'],
    ],
    ['gemini', 'chat', { promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 4 }] }, []],
    [
      'gemini',
      'messages',
      { promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 4 }] },
      ['/usage/promptTokensDetails'],
    ],
    ['gemini', 'chat', { promptTokensDetails: [{ modality: 3, tokenCount: 4 }] }, ['/usage/promptTokensDetails']],
    ['gemini', 'chat', { cacheTokensDetails: [{ modality: 'IMAGE', tokenCount: 4 }] }, ['/usage/cacheTokensDetails']],
    ['gemini', 'chat', { toolUsePromptTokenCount: 4 }, ['/usage/toolUsePromptTokenCount']],
    ['gemini', 'gemini', { tomorrow: 4 }, []],
  ])('is reported: %s → %s, %j', (from, to, usage, paths) => {
    expect(told(from, to, usage)).toEqual(paths)
  })
})
