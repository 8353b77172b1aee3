import * as z from 'zod'
import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import { answeredBy } from '../shared/accept.ts'
import { anyMessages, optionalBoolean } from '../shared/pass-through.ts'

const fields = z.looseObject({
  model: z.string().min(1),
  messages: anyMessages(),
  max_tokens: z.int().min(0),
  // The gateway frames the response by it.
  stream: optionalBoolean,
  // The specification's limits; that of `max_tokens` has the exception below.
  temperature: z.number().min(0).max(1).nullish(),
})

/**
 * What every messages request is checked by; see shared/pass-through.ts. `requestSchema` is for translations.
 *
 * `max_tokens: 0` fills Anthropic's prompt cache and generates nothing. Without a mark for the cache it is below the limit.
 */
export const passThroughSchema = answeredBy(
  fields.superRefine((value, context) => {
    if (isBelowLimit(value))
      context.addIssue({
        code: 'too_small',
        origin: 'int',
        minimum: 1,
        inclusive: true,
        path: ['max_tokens'],
        input: 0,
      })
  }),
  () => (value) => !isBelowLimit(value),
)

const isBelowLimit = (value: { max_tokens: number }): boolean =>
  value.max_tokens === 0 && !marksCache(value as unknown as Json)

/** The body nests no deeper than `limits.depth`. */
function marksCache(value: Json): boolean {
  if (Array.isArray(value)) return value.some(marksCache)
  if (!isObject(value)) return false
  for (const key in value) {
    const inner = value[key] as Json
    if ((key === 'cache_control' && isObject(inner)) || marksCache(inner)) return true
  }
  return false
}

/** A count needs no bound for an answer. */
export const countPassThroughSchema = fields.omit({ max_tokens: true })
