import type { RequestBody } from '../../formats/request-body.ts'
import type { Reply } from '../../http/inbound.ts'
import type { Generation } from '../../lanes/lane.ts'
import type { RoutedCall } from '../route.ts'
import { keepReply } from './keep.ts'
import type { Records } from './records.ts'
import { resolveReferences } from './resolve-references.ts'

/**
 * Generates with stored responses: replaces the request's references by what they refer to, and keeps the response unless the client
 * says `store: false` or the caller has no store. If the upstream keeps the response itself, that upstream is recorded.
 */
export async function generateKept(
  call: RoutedCall,
  received: RequestBody,
  records: Records,
  generate: (call: RoutedCall, request: RequestBody, state: Pick<Generation, 'kept' | 'stored'>) => Promise<Reply>,
): Promise<Reply> {
  const { shared, codec, record } = call
  const { router, limits, references, logger } = shared
  // Nothing is looked up for a model that the caller may not use.
  router.plan(record.model, record.identity)
  const recalled = await resolveReferences(codec.format, received, records, references, limits.bodyBytes)
  const { request, previous, onlyUpstream, unknown, notOwned } = recalled
  const stored = { onlyUpstream, unknown, notOwned }
  if (request.value.store === false || !records.keeps) return generate(call, request, { stored })
  const kept = previous === undefined ? {} : { previous }
  const reply = await generate(call, request, { stored, kept })
  return keepReply(reply, { records, recalled, record, logger })
}
