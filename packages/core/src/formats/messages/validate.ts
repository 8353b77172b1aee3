import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { validateBody } from '../shared/validate.ts'
import { complain } from './complaint.ts'
import { passThroughSchema } from './pass-through-schema.ts'
import { type countSchema, requestSchema } from './schema.ts'
import { hasThread, threadRefused } from './thread.ts'

/** Checks any request from a client; see `Codec.checkRequest`. */
export const checkRequest = (body: Json): JsonObject => validateBody(passThroughSchema, body, complain)

/** Checks a request that is to be translated; see `Codec.validateRequest`. */
export const validateRequest = (body: Json): JsonObject => validateAs(requestSchema, body)

/** What every request of this format is checked for, by the schema of its endpoint. */
export function validateAs(schema: typeof requestSchema | typeof countSchema, body: Json): JsonObject {
  if (isObject(body) && hasThread(body)) throw threadRefused()
  return validateBody(schema, body, complain)
}
