import * as z from 'zod'
import { anyMessages, optionalBoolean } from '../shared/pass-through.ts'
import { integral } from './schema.ts'

/** What every chat request is checked by; see shared/pass-through.ts. `requestSchema` is for translations. */
export const passThroughSchema = z.looseObject({
  model: z.string().min(1),
  messages: anyMessages('an array of objects'),
  // The gateway frames and counts the response by these.
  stream: optionalBoolean,
  deferred: optionalBoolean,
  // The specification's limits.
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  n: z.number({ error: 'an integer' }).refine(Number.isInteger, { params: integral }).min(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
})
