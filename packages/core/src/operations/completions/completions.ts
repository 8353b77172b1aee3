import type { Operation } from '../operation.ts'
import { completionsCodec } from './codec.ts'
import { openai } from './openai.ts'

/** OpenAI's text completions, which came before chat. Chat models stand in where an upstream has none. */
export const completions: Operation<never, never> = {
  name: 'completions',
  dialects: [openai],
  counted: {
    output: { fields: ['max_tokens'], times: ['n', 'best_of'] },
    textFields: { answer: ['text'], event: ['text'] },
  },
  viaChat: completionsCodec,
}
