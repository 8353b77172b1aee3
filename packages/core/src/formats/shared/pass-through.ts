import * as z from 'zod'
import { answeredBy } from './accept.ts'
import { eachOf } from './each-of.ts'

/**
 * Parts of the schemas that every request is checked by, whatever its target (docs/decisions/0031): what the gateway itself has to read,
 * and what the specification requires. Roles, types of parts, enum values and all other fields belong to the provider.
 */
const isWithoutContent = (message: { role: string; content?: unknown }): boolean =>
  message.role === 'user' && message.content === undefined

const message = answeredBy(
  z.looseObject({ role: z.string() }).superRefine((value, context) => {
    if (isWithoutContent(value))
      context.addIssue({ code: 'invalid_type', expected: 'nonoptional', path: ['content'], input: undefined })
  }),
  () => (value) => !isWithoutContent(value),
)

/** At least one message, each with a role. A user's message has content. */
export const anyMessages = (error?: string) => eachOf(message, error).min(1)

/** Null stands for absent, as in all optional fields. */
export const optionalBoolean = z.boolean().nullish()
