import type { Json } from '../compare/json.ts'
import type { RecentBody } from './api.ts'

/** A body as JSON, or as the text that it is. Neither: nothing of it is kept, or it is empty. */
export interface ReadBody {
  readonly json?: Json
  readonly text?: string
}

/** Reads a kept body. Text that is cut is no longer JSON. */
export function readBody(body: RecentBody | undefined): ReadBody {
  const { text = '', isCut, contentType = '', kind } = body ?? {}
  if (text === '') return {}
  if (isCut !== true && (kind === 'form' || contentType === '' || /json/i.test(contentType)))
    try {
      return { json: JSON.parse(text) as Json }
    } catch {
      // Some servers declare JSON and send text.
    }
  return { text }
}

/** Returns a request that can be sent again: it is complete, and nothing of it is left out. */
export function repeatableRequest(body: RecentBody | undefined): { [key: string]: Json } | undefined {
  if (body === undefined || body.kind !== 'text' || body.isShortened) return undefined
  const { json } = readBody(body)
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : undefined
}
