import type { Json, JsonObject } from '../ir.ts'
import { validateBody } from '../shared/validate.ts'
import { complain } from './complaint.ts'
import { inputSchema, requestSchema } from './schema.ts'

/** Checks a request from a client; see `Codec.validateRequest`. */
export const validateRequest = (body: Json): JsonObject =>
  validateBody(inputSchema, validateBody(requestSchema, body, complain), complain)
