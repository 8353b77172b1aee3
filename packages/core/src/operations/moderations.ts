import { complain } from '../formats/chat/validate.ts'
import * as z from '../formats/shared/body-schema.ts'
import { arrayOf, bodyCheck } from '../formats/shared/validate.ts'
import type { Operation } from './operation.ts'

const part = z.looseObject({ type: z.string() })
const schema = z.looseObject({
  model: z.string().optional(),
  input: z.union([z.string(), arrayOf(z.string()).min(1), arrayOf(part).min(1)], {
    error: 'one of a string, an array of strings, or an array of objects',
  }),
})

/** Moderation has one dialect only: requests pass through to upstreams that offer it. */
export const moderations: Operation<never, never> = {
  name: 'moderations',
  dialects: [
    {
      name: 'openai',
      errors: 'chat',
      defaultModel: 'omni-moderation-latest',
      validate: bodyCheck(schema, complain),
      isResponse: ({ results }) => Array.isArray(results),
      tapResponse: () => ({}),
    },
  ],
}
