import type { Part, Turn } from '../ir.ts'

const allowed = /^[a-zA-Z0-9_-]+$/
const refused = /[^a-zA-Z0-9_-]/g

/** Gives every call and its result the same id, of the characters that Anthropic takes. */
export interface ToolIds {
  ofCall(id: string): string
  ofResult(id: string): string
}

/**
 * Ids that are fine stay as they are. Others are rewritten, without ever meeting another id of the conversation. Calls
 * without an id are numbered, and results without one answer them in order.
 */
export function createToolIds(turns: readonly Turn[]): ToolIds {
  const taken = new Set<string>()
  for (const turn of turns) for (const part of turn.parts) if (isGood(part)) taken.add(idOf(part))
  const known = new Map<string, string>()
  const waiting: string[] = []
  let nameless = 0

  const fresh = (wanted: string): string => {
    let id = wanted
    for (let n = 2; taken.has(id); n++) id = `${wanted}_${n}`
    taken.add(id)
    return id
  }
  const map = (id: string): string => {
    if (allowed.test(id)) return id
    let mapped = known.get(id)
    if (mapped === undefined) {
      mapped = fresh(id.replace(refused, '_'))
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
    ofResult: (id) => (id === '' ? (waiting.shift() ?? nextNameless()) : map(id)),
  }
}

const idOf = (part: Part): string =>
  part.type === 'tool-call' ? part.id : part.type === 'tool-result' ? part.callId : ''
const isGood = (part: Part): boolean => allowed.test(idOf(part))
