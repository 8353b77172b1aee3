import type { Reply } from '../../http/inbound.ts'
import { type GenerateCall, generate } from '../generate.ts'
import { keepReply } from './keep.ts'
import type { Records } from './records.ts'
import { resolveReferences } from './resolve-references.ts'

/**
 * Generation with a memory: what the request refers to is put in its place, and the answer is kept unless the client says
 * `store: false`, or nothing is kept for it. An upstream that keeps the answer itself is remembered as the one that does.
 */
export async function generateKept(call: GenerateCall, records: Records): Promise<Reply> {
  const { router, limits, references } = call.shared
  // Nothing is looked up for a model that the caller may not use.
  router.plan(call.record.model, call.record.identity)
  const recalled = await resolveReferences(call.codec.format, call.request, records, references, limits.bodyBytes)
  const { request, previous, onlyUpstream, unknown, notOwned } = recalled
  const known = { ...call, request, onlyUpstream, unknown, notOwned }
  if (request.value.store === false || !records.keeps) return generate(known)
  const kept = previous === undefined ? {} : { previous }
  const reply = await generate({ ...known, kept })
  return keepReply(reply, { records, recalled, record: call.record, logger: call.shared.logger })
}
