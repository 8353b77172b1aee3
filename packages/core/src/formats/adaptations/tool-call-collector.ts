import { isObject, type JsonObject } from '../../base/json/json.ts'

interface Collected {
  readonly first: JsonObject
  name: string
  readonly arguments: string[]
}

/** Collects the pieces of the tool calls in a chat stream, for clients that read whole calls only. */
export class ToolCallCollector {
  readonly #choices = new Map<number, Map<number, Collected>>()

  /** Adds pieces of the calls of a choice. */
  add(choice: number, pieces: readonly JsonObject[]): void {
    if (pieces.length === 0) return
    const calls = this.#choices.get(choice) ?? new Map<number, Collected>()
    this.#choices.set(choice, calls)
    for (const piece of pieces) {
      const index = typeof piece.index === 'number' ? piece.index : calls.size
      const known = calls.get(index) ?? { first: piece, name: '', arguments: [] }
      calls.set(index, known)
      const called = isObject(piece.function) ? piece.function : {}
      if (typeof called.name === 'string' && known.name === '') known.name = called.name
      if (typeof called.arguments === 'string') known.arguments.push(called.arguments)
    }
  }

  /** Returns the whole calls of a choice, and forgets them. */
  take(choice: number): readonly JsonObject[] {
    const calls = [...(this.#choices.get(choice) ?? [])]
    this.#choices.delete(choice)
    return calls.map(([index, { first, name, arguments: pieces }]) => ({
      ...first,
      index,
      type: 'function',
      function: { ...(isObject(first.function) ? first.function : {}), name, arguments: pieces.join('') },
    }))
  }
}
