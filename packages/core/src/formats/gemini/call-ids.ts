/**
 * Older models and clients write calls without ids, and responses refer to them by name. Every call gets an id here, the
 * same in every turn of the conversation (made from its place, so that prompt caches of other vendors hold), and each
 * response the id of its call.
 */
export interface CallIds {
  /** The id of a call in `contents[content].parts[part]`. */
  ofCall(id: string | undefined, name: string, content: number, part: number): string
  ofResponse(id: string | undefined, name: string, content: number, part: number): string
}

interface Waiting {
  id: string
  name: string
}

const minted = /^call_g\d+_\d+$/
const mint = (content: number, part: number): string => `call_g${content}_${part}`

/** Whether an id was made here: it means nothing to anyone upstream of this format. */
export const isMinted = (id: string): boolean => minted.test(id)

export function createCallIds(): CallIds {
  const waiting: Waiting[] = []

  /** Takes the first call that fits and has no response yet. */
  function answered(fits: (call: Waiting) => boolean): string | undefined {
    const position = waiting.findIndex(fits)
    return position < 0 ? undefined : waiting.splice(position, 1)[0]?.id
  }

  return {
    ofCall(id, name, content, part) {
      const call = { id: id ?? mint(content, part), name }
      waiting.push(call)
      return call.id
    },
    ofResponse(id, name, content, part) {
      if (id !== undefined)
        // A client that names a call which had no id made one up itself, the same way we did.
        return answered((call) => call.id === id) ?? answered((call) => call.name === name && isMinted(call.id)) ?? id
      return answered((call) => call.name === name) ?? answered(() => true) ?? mint(content, part)
    },
  }
}
