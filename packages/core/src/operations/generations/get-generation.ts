import { GatewayError } from '../../base/errors.ts'
import { admitWithoutModel } from '../../calls/admit-without-model.ts'
import { admissionHeaders, jsonReply } from '../../calls/reply.ts'
import type { Handler } from '../route.ts'
import { withUnknownFields } from './generation.ts'
import { knowsCosts, maxIdChars } from './record-generation.ts'

/** Returns the record of one of the caller's own calls, in the form of OpenRouter's generations. */
export const handleGetGeneration: Handler = async (call) => {
  const { snapshot, shared, route, record, inbound } = call
  await admitWithoutModel(call)
  const id = new URLSearchParams(inbound.query).get('id') ?? ''
  if (id === '')
    throw new GatewayError('invalid_request', 'id is missing: write ?id= and the id of a response.', { param: 'id' })
  const records = await snapshot.recordsOf(record.identity)
  if (!knowsCosts(shared) || !records.isEnabled)
    throw new GatewayError(
      'not_implemented',
      `GET ${route.path} is not available: this gateway keeps no records of calls. Its operator must configure prices and a response store.`,
    )
  const generation = id.length > maxIdChars ? undefined : await records.generation(id)
  if (generation === undefined)
    throw new GatewayError(
      'not_found',
      `Generation '${id.slice(0, 100)}' not found. Only calls of your own to a path below /api/v1 are recorded, for a limited time.`,
    )
  if (generation.total_cost === undefined)
    throw new GatewayError(
      'not_found',
      `The cost of generation '${id.slice(0, 100)}' in US dollars is unknown, and this response cannot leave it out.`,
    )
  const reply = jsonReply(record, { data: withUnknownFields(generation) })
  Object.assign(reply.headers, admissionHeaders(record))
  return reply
}
