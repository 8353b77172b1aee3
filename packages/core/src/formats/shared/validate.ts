import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import type { Json, JsonObject } from '../ir.ts'
import { isObject } from './reader.ts'

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

/**
 * Checks `body` against `schema` and returns it as it came (zod's copy is thrown away: the wire must see the client's own
 * object). The first issue is told in the dialect's words.
 */
export function validateBody(
  schema: z.ZodType,
  body: Json,
  complain: (issue: Issue, body: Json) => Complaint,
): JsonObject {
  if (isObject(body) && fitsFieldwise(schema, body)) return body
  const result = schema.safeParse(body)
  if (!result.success) {
    const { message, ...details } = complain(deepest(result.error.issues[0] as Issue), body)
    throw new GatewayError('invalid_request', message, details)
  }
  return body as JsonObject
}

interface Fields {
  readonly schemas: ReadonlyMap<string, z.ZodType>
  readonly required: readonly string[]
}
const compiled = new WeakMap<z.ZodType, Fields | null>()

/**
 * zod tries each field that a schema knows, sent or not, and copies the object: for a small request that is most of what
 * the gateway does. Here the fields that were sent are tried alone. False says nothing yet: the whole schema then does.
 */
function fitsFieldwise(schema: z.ZodType, body: JsonObject): boolean {
  let fields = compiled.get(schema)
  if (fields === undefined) {
    fields = fieldsOf(schema)
    compiled.set(schema, fields)
  }
  if (fields === null) return false
  for (const key of fields.required) if (!Object.hasOwn(body, key)) return false
  for (const key of Object.keys(body)) {
    const field = fields.schemas.get(key)
    if (field !== undefined && !field.safeParse(body[key]).success) return false
  }
  return true
}

/** Null for a schema that its fields alone do not decide. */
function fieldsOf(schema: z.ZodType): Fields | null {
  if (!(schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodUnknown)) return null
  if (schema.def.checks !== undefined && schema.def.checks.length > 0) return null
  const entries = Object.entries(schema.shape as Record<string, z.ZodType>)
  return {
    schemas: new Map(entries),
    required: entries.filter(([, field]) => !field.safeParse(undefined).success).map(([key]) => key),
  }
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
