import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { converseTraits } from '../converse/models.ts'
import { modelTraits } from '../messages/models.ts'
import { withItem } from './conversation.ts'

/** A format whose requests ask for caching with marks in the prompt. */
export interface MarkedFormat {
  /** The member that is a mark, wherever it is in the prompt. */
  readonly mark: string
  /** The member of the body that contains `tools`. Default: the body itself. */
  readonly toolsIn?: string
  /** Returns what a model accepts; undefined if it accepts no marks. */
  limitsOf(model: string): MarkLimits | undefined
  /** Returns a part of the prompt with a mark at its end; undefined if it cannot have one. */
  markEnd(part: Json | undefined): Json[] | undefined
}

interface MarkLimits {
  /** Tokens of the shortest prompt that the provider caches. */
  readonly minimum: number
  /** Tools may have a mark. */
  readonly marksTools: boolean
}

/** Blocks of a Messages request that cannot have a mark. */
const unmarkable: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

const canHaveMark = (item: Json): boolean =>
  isObject(item) && !unmarkable.has(item.type) && item.text !== '' && item.defer_loading !== true

/** Marks are members of blocks and tools. */
export const markedMessages: MarkedFormat = {
  mark: 'cache_control',
  limitsOf: (model) => ({ minimum: modelTraits({ model, quirks: {} }).cacheMinimum, marksTools: true }),
  markEnd(part) {
    const items = typeof part === 'string' ? [{ type: 'text', text: part }] : part
    if (!Array.isArray(items)) return undefined
    const last = items.findLastIndex(canHaveMark)
    if (last < 0) return undefined
    return withItem(items, last, { ...(items[last] as JsonObject), cache_control: { type: 'ephemeral' } })
  },
}

/** Nova's minimum. Claude's are in the table of its own format. */
const novaMinimum = 1000

/** Marks are blocks of their own. */
export const markedConverse: MarkedFormat = {
  mark: 'cachePoint',
  toolsIn: 'toolConfig',
  limitsOf(model) {
    const { cache, claude } = converseTraits({ model, quirks: {} })
    return cache && { minimum: claude?.cacheMinimum ?? novaMinimum, marksTools: cache.tools }
  },
  markEnd: (part) =>
    Array.isArray(part) && part.length > 0 ? [...part, { cachePoint: { type: 'default' } }] : undefined,
}
