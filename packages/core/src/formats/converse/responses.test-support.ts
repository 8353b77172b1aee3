import { concatBytes } from '../../base/bytes.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { eventFrame } from '../../http/frames/frames.test-support.ts'

/** A response with everything that Converse can express, and the same response as the frames of a stream. */
export const wholeAnswer: JsonObject = {
  metrics: { latencyMs: 5 },
  output: {
    message: {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'Let me see.', signature: 'c2lnbmVk' } } },
        { reasoningContent: { redactedContent: 'cmVkYWN0ZWQ=' } },
        { text: 'I look it up: Grüße 🙂' },
        {
          citationsContent: {
            content: [{ text: 'Oslo is rainy.' }],
            citations: [
              {
                title: 'Weather',
                sourceContent: [{ text: 'rainy' }],
                location: { web: { url: 'https://example.com/w', domain: 'example.com' } },
              },
              { title: 'Doc', location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } },
            ],
          },
        },
        { toolUse: { toolUseId: 'tooluse_1', name: 'weather', input: { city: 'Oslo' }, type: 'tool_use' } },
        { toolUse: { toolUseId: 'tooluse_2', name: 'time', input: {} } },
        {
          toolUse: { toolUseId: 's1', name: 'nova_code_interpreter', input: { snippet: '1' }, type: 'server_tool_use' },
        },
        {
          toolResult: {
            toolUseId: 's1',
            type: 'nova_code_interpreter_result',
            status: 'success',
            content: [{ json: { out: 1 } }],
          },
        },
        { image: { format: 'png', source: { bytes: 'AAECAwQF' } } },
      ],
    },
  },
  stopReason: 'tool_use',
  serviceTier: { type: 'flex' },
  usage: {
    inputTokens: 433,
    outputTokens: 16,
    cacheReadInputTokens: 2752,
    cacheWriteInputTokens: 10,
    totalTokens: 3211,
    serverToolUsage: {},
    cacheDetails: [{ ttl: '1h', inputTokens: 4 }],
  },
}

const delta = (contentBlockIndex: number, value: JsonObject): readonly [string, JsonObject] => [
  'contentBlockDelta',
  { contentBlockIndex, delta: value, p: 'abcdefgh' },
]
const start = (contentBlockIndex: number, value: JsonObject): readonly [string, JsonObject] => [
  'contentBlockStart',
  { contentBlockIndex, start: value, p: 'ab' },
]
const stop = (contentBlockIndex: number): readonly [string, JsonObject] => [
  'contentBlockStop',
  { contentBlockIndex, p: 'abc' },
]

export const streamedEvents: readonly (readonly [type: string, event: JsonObject])[] = [
  ['messageStart', { role: 'assistant', p: 'a' }],
  delta(0, { reasoningContent: { text: 'Let me ' } }),
  delta(0, { reasoningContent: { text: 'see.' } }),
  delta(0, { reasoningContent: { signature: 'c2lnbmVk' } }),
  stop(0),
  delta(1, { reasoningContent: { redactedContent: 'cmVkYW' + '==' } }),
  delta(1, { reasoningContent: { redactedContent: 'Y3RlZA==' } }),
  stop(1),
  delta(2, { text: 'I look it up: ' }),
  delta(2, { text: 'Grüße 🙂' }),
  stop(2),
  delta(3, { text: 'Oslo is rainy.' }),
  delta(3, {
    citation: {
      title: 'Weather',
      sourceContent: [{ text: 'rainy' }],
      location: { web: { url: 'https://example.com/w', domain: 'example.com' } },
    },
  }),
  delta(3, { citation: { title: 'Doc', location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } } }),
  stop(3),
  start(4, { toolUse: { toolUseId: 'tooluse_1', name: 'weather' } }),
  delta(4, { toolUse: { input: '' } }),
  delta(4, { toolUse: { input: '{"city":' } }),
  delta(4, { toolUse: { input: '"Oslo"}' } }),
  stop(4),
  start(5, { toolUse: { toolUseId: 'tooluse_2', name: 'time' } }),
  stop(5),
  start(6, { toolUse: { toolUseId: 's1', name: 'nova_code_interpreter', type: 'server_tool_use' } }),
  delta(6, { toolUse: { input: '{"snippet":"1"}' } }),
  stop(6),
  start(7, { toolResult: { toolUseId: 's1', type: 'nova_code_interpreter_result', status: 'success' } }),
  delta(7, { toolResult: [{ json: { out: 1 } }] }),
  stop(7),
  start(8, { image: { format: 'png' } }),
  delta(8, { image: { source: { bytes: 'AAEC' } } }),
  delta(8, { image: { source: { bytes: 'AwQF' } } }),
  stop(8),
  ['messageStop', { stopReason: 'tool_use', p: 'abc' }],
  [
    'metadata',
    { metrics: { latencyMs: 5 }, usage: wholeAnswer.usage as JsonObject, serviceTier: { type: 'flex' }, p: 'abcd' },
  ],
]

export const streamedFrames: readonly Uint8Array[] = streamedEvents.map(([type, event]) => eventFrame(type, event))
export const streamedBytes = concatBytes(streamedFrames)
