import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import { pointer } from '../shared/pointer.ts'
import { loss } from '../shared/report.ts'

/** Fields that point to what only a server of this format has stored, or will do later. */
const fields: Readonly<Record<string, string>> = {
  previous_response_id: 'the earlier response is stored at another provider; send the whole conversation as `input`',
  conversation: 'the conversation is stored at another provider; send it as `input`',
  background: 'an answer in the background needs a server that keeps it',
  prompt: 'the prompt template is stored at another provider; write it out as `input`',
}

/** Items that do. */
const items: Readonly<Record<string, string>> = {
  item_reference: 'the item is stored at another provider; send the item itself',
  compaction: 'the compacted part of the conversation can be read by its issuer only',
  compaction_trigger: 'only a provider of this format can compact the conversation',
}

/**
 * Whatever needs state is fatal: without it another question would be answered. Unless the upstream is of this format and
 * has that state.
 */
export function reportState(body: JsonObject, context: CodecContext): void {
  if (context.upstream === 'responses') return
  for (const key of Object.keys(fields)) if (body[key]) tell(pointer('', key), fields[key], context)
}

export function reportStateItem(type: string, at: string, context: CodecContext): void {
  if (context.upstream !== 'responses' && Object.hasOwn(items, type)) tell(at, items[type], context)
}

function tell(at: string, detail: string | undefined, context: CodecContext): void {
  context.report.add(loss(at, detail ?? '', 'unsupported', 'fatal'))
}
