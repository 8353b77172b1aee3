import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import * as z from './body-schema.ts'

export type { Issue } from './body-schema.ts'

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

const used = new Set<z.Schema>()

/** Returns the schemas that bodies were checked against so far. All are module constants, so that the list holds no further memory. */
export const bodySchemas = (): readonly z.Schema[] => [...used]

/**
 * Checks a body against a schema and returns the same object, because pass-through needs the client's own members. An acceptor decides;
 * issues are collected only for a body that does not fit, to describe the first one in the words of the format.
 *
 * @throws GatewayError `invalid_request` with `param`
 */
export function validateBody(
  schema: z.Schema,
  body: Json,
  complain: (issue: z.Issue, body: Json) => Complaint,
): JsonObject {
  used.add(schema)
  if (isObject(body) && schema.accepts(body)) return body
  if (z.judgesOutline())
    throw new GatewayError('invalid_request', 'The outline alone does not prove that the body is valid.')
  const [issue] = schema.issues(body)
  if (issue === undefined) return body as JsonObject
  const { message, ...details } = complain(deepest(issue), body)
  throw new GatewayError('invalid_request', message, details)
}

/** Creates the check of bodies against a schema; see `validateBody`. */
export const bodyCheck =
  (schema: z.Schema, complain: (issue: z.Issue, body: Json) => Complaint) =>
  (body: Json): JsonObject =>
    validateBody(schema, body, complain)

/** Returns the issue of the union branch that matched furthest; if none matched at all, the issue of the union. */
function deepest(issue: z.Issue): z.Issue {
  if (issue.code !== 'invalid_union') return issue
  let best: z.Issue | undefined
  for (const branch of issue.errors)
    for (const inner of branch) {
      const found = deepest({ ...inner, path: [...issue.path, ...inner.path] })
      if (found.path.length > (best?.path.length ?? issue.path.length)) best = found
    }
  return best ?? issue
}

/** Returns the schema of a type, if it is known. */
export const chosen = (schemas: Readonly<Record<string, z.Schema>>, type: unknown): z.Schema | undefined =>
  typeof type === 'string' && Object.hasOwn(schemas, type) ? schemas[type] : undefined

/**
 * Creates an array schema that stops at the first issue. `array` collects all issues: some megabytes of wrong elements would cost
 * seconds and gigabytes.
 *
 * @param error description of the array in the error for another type
 */
export const arrayOf = <T>(element: z.Schema<T>, error?: string): z.Schema<T[]> =>
  z.array(z.unknown(), error === undefined ? undefined : { error }).superRefine(
    (items, rule) => {
      for (const [index, item] of items.entries()) {
        const issues = element.issues(item)
        for (const issue of issues) rule.addIssue({ ...issue, path: [index, ...issue.path] })
        if (issues.length > 0) return
      }
    },
    () => {
      const { accepts } = element
      return (items) => items.every((item) => accepts(item))
    },
  ) as z.Schema<T[]>

/**
 * Parts of the schemas for all requests, pass-through included (docs/decisions/0031): fields that the gateway reads, and fields that the
 * specification requires. The provider checks roles, part types, enum values and all other fields.
 */
const userMessage = z.looseObject({
  content: z.union([z.string(), z.array(z.unknown())], { error: 'one of a string or array of objects' }),
})

/** Creates a schema for at least one message with a role. User messages need content; the provider checks the others. */
export function messageList(error?: string) {
  const message = z.looseObject({ role: z.string() }).and(({ role }) => (role === 'user' ? userMessage : undefined))
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
  z.unknown().superRefine((input, rule) => {
    if (typeof input === 'string') {
      if (input.length < leastText) rule.addIssue({ code: 'too_small', minimum: leastText, origin: 'string' })
    } else if (Array.isArray(input) && input.length === 0) {
      rule.addIssue({ code: 'too_small', minimum: 1, origin: 'array' })
    } else if (!Array.isArray(input)) {
      rule.addIssue({ code: 'invalid_union', errors: [], message: forms })
    } else {
      const fits = kindOf(input[0])
      const at = fits === undefined ? 0 : input.findIndex((item) => !fits(item))
      if (at >= 0) rule.addIssue({ code: 'invalid_union', errors: [], message: forms, path: [at] })
    }
  })
