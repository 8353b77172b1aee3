import { demoBrain } from '@modelgate/testing'
import type { Defect } from './defect.ts'

/** Models that lack a capability. */
export const modelDefects: readonly Defect[] = [
  {
    name: 'the model replies in a single token',
    model: (prompt) =>
      prompt.stream && /thirty|three,/.test(prompt.turns.at(-1)?.text ?? '') ? { text: 'One.' } : demoBrain(prompt),
    failed: ['*/stream', 'completions/stream'],
  },
  {
    name: 'the model calls one tool at a time',
    model: (prompt) => {
      const script = demoBrain(prompt)
      return { ...script, ...(script.toolCalls ? { toolCalls: script.toolCalls.slice(0, 1) } : {}) }
    },
    failed: ['*/parallel-tools'],
  },
  {
    name: 'the model ignores images, documents and audio',
    model: (prompt) => demoBrain({ ...prompt, turns: prompt.turns.map((turn) => ({ ...turn, media: [] })) }),
    failed: ['*/image', '*/pdf'],
  },
  {
    name: 'the model returns empty text',
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
    name: 'the model ignores tool results',
    model: (prompt) => (prompt.turns.at(-1)?.toolResults.length ? { text: 'Fine.' } : demoBrain(prompt)),
    failed: ['*/parallel-tools', '*/tool-result', '*/streamed-tool-loop', '*/thinking-with-tools'],
  },
]
