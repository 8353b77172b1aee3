import * as z from 'zod'
import { acceptorOf, answeredBy } from './accept.ts'
import { eachOf } from './each-of.ts'

/**
 * Parts of the schemas that every request is checked by, whatever its target (docs/decisions/0031): what the gateway itself has to read,
 * and what the specification requires. Roles, types of parts, enum values and all other fields belong to the provider.
 */
const userMessage = z.looseObject({
  content: z.union([z.string(), z.array(z.unknown())], { error: 'one of a string or array of objects' }),
})

/** At least one message, each with a role. A user's message has content; what other messages cannot do without is up to the provider. */
export function anyMessages(error?: string) {
  const message = answeredBy(
    z.looseObject({ role: z.string() }).superRefine((value, context) => {
      const result = value.role === 'user' ? userMessage.safeParse(value) : undefined
      for (const issue of result?.error?.issues ?? [])
        context.addIssue({ ...issue, input: undefined } as Parameters<typeof context.addIssue>[0])
    }),
    () => {
      const hasContent = acceptorOf(userMessage)
      return (value) => value.role !== 'user' || hasContent(value)
    },
  )
  return eachOf(message, error).min(1)
}

/** Null stands for absent, as in all optional fields. */
export const optionalBoolean = z.boolean().nullish()
