/**
 * Assigns ids to calls and function responses. Older models and clients write calls without ids, and responses refer to
 * them by name. A generated id is made from the call's place, so that it is the same in every request of a conversation and
 * the prompt caches of other vendors hold.
 */
export interface CallIds {
  /** Returns the id of a call in `contents[content].parts[part]`. */
  callId(id: string | undefined, name: string, content: number, part: number): string
  responseId(id: string | undefined, name: string, content: number, part: number): string
}

const generatedPattern = /^call_g\d+_\d+$/
const generateId = (content: number, part: number): string => `call_g${content}_${part}`

/** Returns whether an id was generated here, so that no upstream of this format knows it. */
export const isGeneratedId = (id: string): boolean => generatedPattern.test(id)

/** A call, and whether its response has been found. */
interface Call {
  readonly id: string
  isAnswered: boolean
}

/** Creates the ids of one conversation. */
export function createCallIds(): CallIds {
  // Created on demand, because most conversations have no calls.
  let queues: Queues | undefined

  return {
    callId(id, name, content, part) {
      queues ??= createQueues()
      const { all, byId, byName, mintedByName: generatedByName } = queues
      const call: Call = { id: id ?? generateId(content, part), isAnswered: false }
      all.add(call)
      queueOf(byId, call.id).add(call)
      queueOf(byName, name).add(call)
      if (isGeneratedId(call.id)) queueOf(generatedByName, name).add(call)
      return call.id
    },
    responseId(id, name, content, part) {
      if (id !== undefined)
        // A client that sends an id for a call without one has generated it itself, so the name decides.
        return queues?.byId.get(id)?.answerNext() ?? queues?.mintedByName.get(name)?.answerNext() ?? id
      return queues?.byName.get(name)?.answerNext() ?? queues?.all.answerNext() ?? generateId(content, part)
    },
  }
}

/** Each call waits in several queues, so that none of them needs a search. */
interface Queues {
  readonly all: CallQueue
  readonly byId: Map<string, CallQueue>
  readonly byName: Map<string, CallQueue>
  readonly mintedByName: Map<string, CallQueue>
}

const createQueues = (): Queues => ({
  all: new CallQueue(),
  byId: new Map(),
  byName: new Map(),
  mintedByName: new Map(),
})

/** Calls in order. Calls that were answered through another queue are skipped. */
class CallQueue {
  readonly #calls: Call[] = []
  #first = 0

  add(call: Call): void {
    this.#calls.push(call)
  }

  /** Marks the first waiting call as answered, and returns its id. */
  answerNext(): string | undefined {
    for (let call = this.#calls[this.#first]; call !== undefined; call = this.#calls[this.#first]) {
      this.#first++
      if (call.isAnswered) continue
      call.isAnswered = true
      return call.id
    }
    return undefined
  }
}

function queueOf(queues: Map<string, CallQueue>, key: string): CallQueue {
  let queue = queues.get(key)
  if (queue === undefined) {
    queue = new CallQueue()
    queues.set(key, queue)
  }
  return queue
}
