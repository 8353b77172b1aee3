import { GatewayError } from '../base/errors.ts'
import { jsonReply } from '../calls/reply.ts'
import type { Handler } from './route.ts'

/** Handles routes with the same response, or the same error, for every request. */
export const handleStaticResponse: Handler = async ({ route, record }) => {
  if (route.response === undefined) throw new GatewayError('not_implemented', route.refusal ?? 'Not implemented.')
  return jsonReply(record, route.response)
}
