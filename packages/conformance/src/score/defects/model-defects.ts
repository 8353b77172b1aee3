import { demoBrain } from '@modelgate/testing'
import type { Spoil } from './defect.ts'

/** Models that cannot do something. */
export const poorModels: readonly Spoil[] = [
  {
    name: 'a model that says everything in one word',
    model: (prompt) =>
      prompt.stream && /thirty|three,/.test(prompt.turns.at(-1)?.text ?? '') ? { text: 'One.' } : demoBrain(prompt),
    failed: ['*/stream', 'completions/stream'],
  },
  {
    name: 'a model that calls one tool at a time',
    model: (prompt) => {
      const script = demoBrain(prompt)
      return { ...script, ...(script.toolCalls ? { toolCalls: script.toolCalls.slice(0, 1) } : {}) }
    },
    failed: ['*/parallel-tools'],
  },
  {
    name: 'a model that sees, reads and hears nothing',
    model: (prompt) => demoBrain({ ...prompt, turns: prompt.turns.map((turn) => ({ ...turn, media: [] })) }),
    failed: ['*/image', '*/pdf'],
  },
  {
    name: 'a model that says nothing',
    model: () => ({ text: '' }),
    failed: [
      '*/text',
      '*/usage',
      '*/system',
      '*/turns',
      '*/stream',
      'completions/stream',
      '*/stream-usage',
      '*/unicode',
      '*/stop',
      '*/limit',
      '*/sampling',
      '*/schema',
      '*/image',
      '*/pdf',
      '*/thinking',
      '*/tool',
      '*/no-tool',
      '*/parallel-tools',
      '*/tool-result',
      '*/streamed-tool',
      '*/streamed-tool-loop',
      '*/thinking-with-tools',
      'chat/developer',
      '*/named-tool',
      'chat/json-object',
      'chat/older-limit',
      'chat/logprobs',
      'chat/seed',
      '*/audio',
      'messages/stream-events',
      'responses/stream-events',
      'messages/system-blocks',
      'messages/stop-sequence',
      'messages/failed-tool',
      'gemini/underscores',
      'gemini/google-schema',
      'responses/previous-response',
      'responses/items',
    ],
  },
  {
    name: 'a model that forgets what tools said',
    model: (prompt) => (prompt.turns.at(-1)?.toolResults.length ? { text: 'Fine.' } : demoBrain(prompt)),
    failed: ['*/parallel-tools', '*/tool-result', '*/streamed-tool-loop', '*/thinking-with-tools'],
  },
]
