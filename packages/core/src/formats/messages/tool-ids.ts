import type { Part, Turn } from '../ir.ts'
import { createUniqueNames, hash, type NameRule } from '../shared/names.ts'
import { callIds } from './fields.ts'

/** Gives every call and its result the same id, one that the upstream takes. */
export interface ToolIds {
  ofCall(id: string): string
  ofResult(id: string): string
}

/**
 * Ids that are fine stay as they are. Others are rewritten, without ever meeting another id of the conversation. Calls
 * without an id are numbered, and results without one answer them in order.
 */
export function createToolIds(turns: readonly Turn[], rule: NameRule = callIds): ToolIds {
  const { accepted: allowed, refused, longest } = rule
  const isGood = (id: string): boolean => id.length <= longest && allowed.test(id)
  let free: ((wanted: string) => string) | undefined
  const known = new Map<string, string>()
  const waiting: string[] = []
  let answered = 0
  let nameless = 0

  const fresh = (wanted: string): string => {
    free ??= createUniqueNames('_', turns.flatMap(({ parts }) => parts.map(idOf)).filter(isGood))
    return free(wanted)
  }
  const map = (id: string): string => {
    if (isGood(id)) return id
    let mapped = known.get(id)
    if (mapped === undefined) {
      mapped = fresh(shorten(id.replace(refused, '_'), longest))
      known.set(id, mapped)
    }
    return mapped
  }
  const nextNameless = (): string => fresh(`call_${++nameless}`)

  return {
    ofCall(id) {
      if (id !== '') return map(id)
      const made = nextNameless()
      waiting.push(made)
      return made
    },
    ofResult: (id) => (id === '' ? (waiting[answered++] ?? nextNameless()) : map(id)),
  }
}

const idOf = (part: Part): string =>
  part.type === 'tool-call' ? part.id : part.type === 'tool-result' ? part.callId : ''

/** Ids that begin alike must not meet. */
const shorten = (id: string, longest: number): string =>
  id.length <= longest ? id : `${id.slice(0, longest - 13)}_${hash(id)}`
