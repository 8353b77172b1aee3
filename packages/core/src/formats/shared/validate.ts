import * as z from 'zod'
import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { type Acceptor, acceptorOf, judgesOutline, withAcceptor } from './acceptors.ts'

/** One thing wrong with a body, as zod found it: where, and in neutral terms what. */
export type Issue = z.core.$ZodIssue

/** What a dialect says about an issue. */
export interface Complaint {
  message: string
  /** The field, in dots: `messages.2.content`. */
  param?: string
  code?: string
}

export const dotted = (path: readonly PropertyKey[]): string => path.map(String).join('.')

const acceptors = new Map<z.ZodType, Acceptor>()

function bodyAcceptor(schema: z.ZodType): Acceptor {
  let acceptor = acceptors.get(schema)
  if (acceptor === undefined) {
    acceptor = acceptorOf(schema)
    acceptors.set(schema, acceptor)
  }
  return acceptor
}

/** The schemas that bodies have been checked against so far. All are constants of modules, so that keeping them costs no memory. */
export const bodySchemas = (): readonly z.ZodType[] => [...acceptors.keys()]

/**
 * Checks `body` against `schema` and returns it as it came (zod's copy is thrown away: the wire must see the client's own
 * object). The first issue is told in the dialect's words; zod itself is asked for those of what does not fit only.
 */
export function validateBody(
  schema: z.ZodType,
  body: Json,
  complain: (issue: Issue, body: Json) => Complaint,
): JsonObject {
  if (isObject(body) && bodyAcceptor(schema)(body)) return body
  if (judgesOutline()) throw new GatewayError('invalid_request', 'The outline alone does not say that the body fits.')
  const result = schema.safeParse(body)
  if (!result.success) {
    const { message, ...details } = complain(deepest(result.error.issues[0] as Issue), body)
    throw new GatewayError('invalid_request', message, details)
  }
  return body as JsonObject
}

/** In a union, the branch that got furthest says what is really wrong; if none got in, the union itself does. */
function deepest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue
  let best: Issue | undefined
  for (const branch of issue.errors)
    for (const inner of branch) {
      const found = deepest({ ...inner, path: [...issue.path, ...inner.path] } as Issue)
      if (found.path.length > (best?.path.length ?? issue.path.length)) best = found
    }
  return best ?? issue
}

/**
 * An array of the given elements that is checked up to its first fault. zod's own array collects every one: a body of
 * some megabytes of wrong elements would cost seconds and gigabytes.
 *
 * @param error what the dialect's complaint calls the array, where it is none.
 */
export function arrayOf(element: z.ZodType, error?: string) {
  const array = z.array(z.unknown(), error === undefined ? undefined : { error }).superRefine((items, context) => {
    for (const [index, item] of items.entries()) {
      const result = element.safeParse(item)
      if (result.success) continue
      for (const issue of result.error.issues)
        context.addIssue({ ...issue, path: [index, ...issue.path], input: undefined } as Parameters<
          typeof context.addIssue
        >[0])
      return
    }
  })
  return withAcceptor(array, () => {
    const fits = acceptorOf(element)
    return (items) => items.every((item) => fits(item))
  })
}

/**
 * Parts of the schemas that every request is checked by, whatever its target (docs/decisions/0031): what the gateway itself has to read,
 * and what the specification requires. Roles, types of parts, enum values and all other fields belong to the provider.
 */
const userMessage = z.looseObject({
  content: z.union([z.string(), z.array(z.unknown())], { error: 'one of a string or array of objects' }),
})

/** At least one message, each with a role. A user's message has content; what other messages cannot do without is up to the provider. */
export function messageList(error?: string) {
  const message = withAcceptor(
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
  return arrayOf(message, error).min(1)
}

/** Null stands for absent, as in all optional fields. */
export const optionalBoolean = z.boolean().nullish()
