import * as z from 'zod'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { complain } from '../../formats/chat/complaint.ts'
import { eachOf } from '../../formats/shared/each-of.ts'
import { validateBody } from '../../formats/shared/validate.ts'
import { textsOrTokens } from '../texts-or-tokens.ts'

const optional = <T extends z.ZodType>(schema: T) => schema.nullish()
const integer = () => z.number({ error: 'an integer' }).int({ error: 'an integer' })

const schema = z.looseObject({
  model: z.string().min(1),
  prompt: textsOrTokens(0).nullable(),
  best_of: optional(integer().min(0).max(20)),
  echo: optional(z.boolean()),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  logit_bias: optional(z.record(z.string(), z.number())),
  logprobs: optional(integer().min(0)),
  max_tokens: optional(integer().min(0)),
  n: optional(integer().min(1).max(128)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  seed: optional(integer()),
  stop: optional(z.union([z.string(), eachOf(z.string())], { error: 'one of a string or array of strings' })),
  stream: optional(z.boolean()),
  stream_options: optional(z.looseObject({ include_usage: optional(z.boolean()) })),
  suffix: optional(z.string()),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  user: optional(z.string()),
})

export const validateRequest = (body: Json): JsonObject => validateBody(schema, body, complain)
