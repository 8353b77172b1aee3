import { GatewayError } from '../../errors.ts'
import type { Json, JsonObject } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { validateBody } from '../shared/validate.ts'
import { complain } from './complaint.ts'
import { type countSchema, requestSchema } from './schema.ts'

/** Checks a request from a client; see `Codec.validateRequest`. */
export const validateRequest = (body: Json): JsonObject => validateAs(requestSchema, body)

/** What every request of this format is checked for, by the schema of its endpoint. */
export function validateAs(schema: typeof requestSchema | typeof countSchema, body: Json): JsonObject {
  if (isObject(body) && body.thread !== undefined && body.thread !== null) throw threadRefused()
  return validateBody(schema, body, complain)
}

/**
 * A thread leaves out what the server is to remember, and the gateway remembers nothing. Told so by this code, Anthropic's
 * SDK sends the whole conversation instead.
 */
function threadRefused(): GatewayError {
  const message = 'thread: the gateway keeps no threads. Send the whole conversation in `messages`, without `thread`.'
  const code = 'thread_unsupported_request'
  return new GatewayError('invalid_request', message, {
    param: 'thread',
    code,
    raw: {
      format: 'messages',
      value: {
        type: 'invalid_request_error',
        message,
        details: { error_code: code, unsupported: ['thread'] },
      },
    },
  })
}
