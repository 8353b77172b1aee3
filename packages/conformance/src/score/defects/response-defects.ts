import { isObject, objectOf, parseJson } from '../../base/json.ts'
import { type Defect, replacingValues, streamed, visit, whole, without } from './defect.ts'

const endingKeys = ['finish_reason', 'stop_reason', 'finishReason', 'status']
/** Defects in model responses. */
export const responseDefects: readonly Defect[] = [
  {
    name: 'responses have no usage',
    changeResponse: without('usage', 'usageMetadata'),
    failed: [
      '*/usage',
      '*/stream-usage',
      'chat/thinking',
      '*/cache',
      'chat/thinking-with-tools',
      'messages/stream',
      'messages/unicode',
      'messages/streamed-tool',
      'messages/streamed-tool-loop',
      'messages/stream-events',
      'completions/text',
      'embeddings/SDK-default',
    ],
  },
  {
    name: 'streams have no usage',
    changeResponse: streamed(without('usage', 'usageMetadata')),
    failed: [
      '*/stream-usage',
      'messages/stream',
      'messages/unicode',
      'messages/streamed-tool',
      'messages/streamed-tool-loop',
      'messages/stream-events',
    ],
  },
  {
    name: 'usage has no details',
    changeResponse: whole(without('prompt_tokens_details', 'input_tokens_details', 'cache_read_input_tokens')),
    failed: ['*/cache'],
  },
  { name: 'responses name no model', changeResponse: without('model', 'modelVersion'), failed: ['*/text'] },
  {
    name: 'finish reasons are not those of the format',
    changeResponse: replacingValues(endingKeys, { stop: 'eos', end_turn: 'eos', STOP: 'EOS', completed: 'eos' }),
    failed: [
      '*/text',
      'completions/text',
      '*/stream',
      'chat/stop',
      'gemini/stop',
      '*/parallel-tools',
      '*/tool-result',
      '*/streamed-tool-loop',
      '*/thinking-with-tools',
      'chat/stream-events',
      'gemini/stream-events',
      'gemini/tool',
      'responses/tool',
      'gemini/streamed-tool',
      'responses/streamed-tool',
    ],
  },
  {
    name: 'a token limit has the wrong finish reason',
    changeResponse: (value) =>
      without('incomplete_details')(
        replacingValues(endingKeys, {
          length: 'stop',
          max_tokens: 'end_turn',
          MAX_TOKENS: 'STOP',
          incomplete: 'completed',
        })(value),
      ),
    failed: ['*/limit', 'chat/older-limit'],
  },
  {
    name: 'tool calls have the wrong finish reason',
    changeResponse: replacingValues(endingKeys, { tool_calls: 'stop', tool_use: 'end_turn' }),
    failed: ['chat/tool', 'messages/tool', 'chat/streamed-tool', 'messages/streamed-tool'],
  },
  {
    name: 'a stop sequence is not reported',
    changeResponse: without('stop_sequence'),
    failed: ['messages/stop-sequence'],
  },
  {
    name: 'multi-byte characters are broken',
    changeResponse: (value) => parseJson(JSON.stringify(value).replaceAll('ü', '\ufffd')) ?? null,
    failed: ['*/unicode'],
  },
  {
    name: 'tools have other names',
    changeResponse: replacingValues(['name'], { get_weather: 'weather' }),
    failed: [
      '*/tool',
      '*/parallel-tools',
      '*/tool-result',
      '*/streamed-tool',
      '*/streamed-tool-loop',
      '*/thinking-with-tools',
    ],
  },
  {
    name: 'chunks of a stream have different ids',
    changeResponse: (value, { stream }) =>
      stream && isObject(value) && value.object === 'chat.completion.chunk'
        ? { ...value, id: String(Math.random()) }
        : value,
    failed: ['chat/stream-events'],
  },
  {
    name: 'all events have the same sequence number',
    changeResponse: streamed((value) =>
      visit(value, (object) => {
        if ('sequence_number' in object) object.sequence_number = 1
      }),
    ),
    failed: ['responses/stream-events'],
  },
  {
    name: 'one kind of event is missing',
    changeResponse: streamed((value) =>
      ['content_block_stop', 'response.content_part.done'].includes(String(objectOf(value).type)) ? undefined : value,
    ),
    failed: ['messages/stream-events', 'responses/stream-events'],
  },
  {
    name: 'final events are missing',
    changeResponse: streamed((value) =>
      /"(finish_reason|finishReason)":"|"type":"(message_stop|response.completed|transcript.text.done)"/.test(
        JSON.stringify(value),
      )
        ? undefined
        : value,
    ),
    failed: [
      '*/stream',
      'completions/stream',
      'transcriptions/stream',
      '*/stream-usage',
      '*/unicode',
      '*/streamed-tool',
      '*/streamed-tool-loop',
      '*/stream-events',
    ],
  },
]
