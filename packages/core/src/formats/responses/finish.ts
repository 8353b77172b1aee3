import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Finish, Part } from '../ir.ts'

/** The kinds of content in a response, on which its status depends. */
export interface ContentFlags {
  hasCalls: boolean
  hasRefusal: boolean
  hasText: boolean
  /** Any part except reasoning. */
  hasContent: boolean
}

/** Returns flags for an empty response. */
export const noContent = (): ContentFlags => ({ hasCalls: false, hasRefusal: false, hasText: false, hasContent: false })

/** Sets the flags of a part. */
export function noteContent(flags: ContentFlags, part: Part): void {
  if (part.type === 'tool-call') flags.hasCalls = true
  else if (part.type === 'refusal') flags.hasRefusal = true
  else if (part.type === 'text') flags.hasText = true
  if (part.type !== 'reasoning') flags.hasContent = true
}

/** Returns the flags of whole parts. */
export function contentFlagsOf(parts: readonly Part[]): ContentFlags {
  const flags = noContent()
  for (const part of parts) if (part.type !== 'text' || part.text !== '') noteContent(flags, part)
  return flags
}

const reasons: Readonly<Record<string, Finish['reason']>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  content_filter: 'content-filter',
  max_tool_calls: 'pause',
}
/** States of a response that continues at its server. */
const unfinished: readonly string[] = ['queued', 'in_progress', 'cancelled']

/** Decodes the status and the reason of an incomplete response. Unknown values never fail. */
export function decodeFinish(response: JsonObject, flags: ContentFlags): Finish {
  const status = typeof response.status === 'string' ? response.status : ''
  const details = isObject(response.incomplete_details) ? response.incomplete_details : {}
  const why = typeof details.reason === 'string' ? details.reason : ''
  if (status === 'incomplete' || why !== '') {
    const reason = (Object.hasOwn(reasons, why) ? reasons[why] : undefined) ?? 'other'
    return { reason, raw: { format: 'responses', value: why || status } }
  }
  const raw = { format: 'responses', value: status } as const
  if (status === 'failed') return { reason: 'error', raw }
  if (unfinished.includes(status)) return { reason: 'other', raw }
  return { reason: flags.hasCalls ? 'tool-calls' : flags.hasRefusal && !flags.hasText ? 'refusal' : 'stop', raw }
}

/** The status of a finished response. */
export interface FinalStatus {
  status: string
  incompleteDetails: Json
}

const completed: FinalStatus = { status: 'completed', incompleteDetails: null }
const incomplete = (reason: string): FinalStatus => ({ status: 'incomplete', incompleteDetails: { reason } })

/** Encodes the finish as a status. Agents repeat the turn in a hot loop after an unknown one, so the default is `completed`. */
export function encodeFinish(finish: Finish, flags: ContentFlags): FinalStatus {
  const own = finish.raw?.format === 'responses' ? finish.raw.value : undefined
  if (own !== undefined && own !== '') {
    if (unfinished.includes(own)) return { status: own, incompleteDetails: null }
    if (own === 'completed' || own === 'complete') return completed
    if (own !== 'failed') return own === 'incomplete' ? { status: own, incompleteDetails: null } : incomplete(own)
  }
  switch (finish.reason) {
    case 'length':
    case 'context-length':
      return incomplete('max_output_tokens')
    case 'content-filter':
      return incomplete('content_filter')
    case 'refusal':
      // A model that refuses in a text has finished; one that was stopped has not.
      return flags.hasRefusal && finish.raw?.value === 'stop' ? completed : incomplete('content_filter')
    default:
      return completed
  }
}
