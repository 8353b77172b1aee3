import type { Json, JsonObject } from '../../base/json/types.ts'
import { validateBody } from '../shared/validate.ts'
import { complain } from './complaint.ts'
import { passThroughSchema } from './pass-through-schema.ts'
import { requestSchema } from './schema.ts'

/** Checks any request from a client; see `Codec.checkRequest`. */
export const checkRequest = (body: Json): JsonObject => validateBody(passThroughSchema, body, complain)

/** Checks a request that is to be translated; see `Codec.validateRequest`. */
export const validateRequest = (body: Json): JsonObject => validateBody(requestSchema, body, complain)
