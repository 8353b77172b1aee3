import * as z from 'zod'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { type Acceptor, acceptorOf, judgesOutline, withAcceptor } from './acceptors.ts'

/** A validation issue of zod: its path, and its kind. */
export type Issue = z.core.$ZodIssue

/** An issue in the words of a format. */
export interface Complaint {
  message: string
  /** The field, as a dotted path: `messages.2.content`. */
  param?: string
  code?: string
  /** The message for logs, if `message` quotes the request. */
  logMessage?: string
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

/** Returns the schemas that bodies were checked against so far. All are module constants, so that the list holds no further memory. */
export const bodySchemas = (): readonly z.ZodType[] => [...acceptors.keys()]

/**
 * Checks a body against a schema and returns the same object, because pass-through needs the client's own members. An acceptor decides;
 * zod runs only for a body that does not fit, to describe its first issue in the words of the format.
 *
 * @throws GatewayError `invalid_request` with `param`
 */
export function validateBody(
  schema: z.ZodType,
  body: Json,
  complain: (issue: Issue, body: Json) => Complaint,
): JsonObject {
  if (isObject(body) && bodyAcceptor(schema)(body)) return body
  if (judgesOutline())
    throw new GatewayError('invalid_request', 'The outline alone does not prove that the body is valid.')
  const result = schema.safeParse(body)
  if (!result.success) {
    const { message, ...details } = complain(deepest(result.error.issues[0] as Issue), body)
    throw new GatewayError('invalid_request', message, details)
  }
  return body as JsonObject
}

/** Creates the check of bodies against a schema; see `validateBody`. */
export const bodyCheck =
  (schema: z.ZodType, complain: (issue: Issue, body: Json) => Complaint) =>
  (body: Json): JsonObject =>
    validateBody(schema, body, complain)

/** Returns the issue of the union branch that matched furthest; if none matched at all, the issue of the union. */
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
 * Creates an array schema that stops at the first issue. zod's own array collects all issues: some megabytes of wrong elements would cost
 * seconds and gigabytes.
 *
 * @param error description of the array in the error for another type
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
 * Parts of the schemas for all requests, pass-through included (docs/decisions/0031): fields that the gateway reads, and fields that the
 * specification requires. The provider checks roles, part types, enum values and all other fields.
 */
const userMessage = z.looseObject({
  content: z.union([z.string(), z.array(z.unknown())], { error: 'one of a string or array of objects' }),
})

/** Creates a schema for at least one message with a role. User messages need content; the provider checks the others. */
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

/** Null counts as absent, as in all optional fields. */
export const optionalBoolean = z.boolean().nullish()

const isText = (item: unknown): boolean => typeof item === 'string'
const isToken = (item: unknown): boolean => Number.isSafeInteger(item) && Number(item) >= 0
const isTokens = (item: unknown): boolean => Array.isArray(item) && item.length > 0 && item.every(isToken)

const forms = 'one of a string, an array of strings, an array of integers, or an array of integer arrays'

/** Returns the check for all items of a list, by its first item. */
const kindOf = (first: unknown) => [isText, isToken, isTokens].find((fits) => fits(first))

/**
 * Accepts a text, texts, tokens or lists of tokens. Stops at the first fault: a union would try each form on thousands of items and keep
 * every complaint.
 *
 * @param leastText minimum of characters of a single text
 */
export const textsOrTokens = (leastText: number) =>
  z
    .custom<Json>((value) => value !== undefined)
    .superRefine((input, context) => {
      if (typeof input === 'string') {
        if (input.length < leastText)
          context.addIssue({ code: 'too_small', minimum: leastText, origin: 'string', input })
      } else if (Array.isArray(input) && input.length === 0) {
        context.addIssue({ code: 'too_small', minimum: 1, origin: 'array', input })
      } else if (!Array.isArray(input)) {
        context.addIssue({ code: 'invalid_union', errors: [], message: forms, input })
      } else {
        const fits = kindOf(input[0])
        const at = fits === undefined ? 0 : input.findIndex((item) => !fits(item))
        if (at >= 0)
          context.addIssue({ code: 'invalid_union', errors: [], message: forms, path: [at], input: input[at] })
      }
    })
