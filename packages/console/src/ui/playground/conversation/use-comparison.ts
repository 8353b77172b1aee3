import { useEffect, useState } from 'preact/hooks'
import { conversationKey } from './stored-rounds.ts'
import { type Conversation, useConversation } from './use-conversation.ts'

const storedAs = 'modelgate-second-model'

export interface Comparison {
  /** The model to compare with; undefined: no comparison. */
  readonly second: string | undefined
  /** The conversation with the second model. */
  readonly other: Conversation
  /** Starts the comparison, or changes its second model. */
  compareWith(model: string): void
  /** Ends the comparison. The conversation with the second model is lost unless it is kept. */
  end(options: { keepsSecond: boolean }): void
}

/** The comparison with a second model: a second conversation that begins as a copy of the first. */
export function useComparison(gateway: string, first: Conversation): Comparison {
  const [second, setSecond] = useState(readSecond)
  const other = useConversation(gateway, `${conversationKey}-second`)
  useEffect(() => storeSecond(second), [second])
  return {
    second,
    other,
    compareWith(model) {
      if (second === undefined) other.replace(first.all)
      setSecond(model)
    },
    end({ keepsSecond }) {
      if (keepsSecond) first.replace(other.all)
      other.clear()
      setSecond(undefined)
    },
  }
}

function readSecond(): string | undefined {
  try {
    return localStorage.getItem(storedAs) ?? undefined
  } catch {
    // The browser blocks storage.
    return undefined
  }
}

function storeSecond(model: string | undefined): void {
  try {
    if (model === undefined) localStorage.removeItem(storedAs)
    else localStorage.setItem(storedAs, model)
  } catch {
    // The comparison lasts as long as the page.
  }
}
