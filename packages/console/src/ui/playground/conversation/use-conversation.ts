import { useEffect, useReducer, useRef } from 'preact/hooks'
import { fetchCallFacts } from '../call/call-facts.ts'
import { send } from '../call/send.ts'
import type { Exchange, Format, Question, Settings } from '../formats/format.ts'
import { changeRounds, type Round, turnsOf } from './rounds.ts'

export interface CallOptions {
  readonly format: Format
  readonly settings: Settings
  readonly token: string
}

export interface Conversation {
  readonly rounds: readonly Round[]
  readonly running: boolean
  ask(question: Question, asking: CallOptions): void
  /** Repeats a question, optionally with a new text, and drops the rounds after it. */
  askAgain(round: Round, question: Question, asking: CallOptions): void
  stop(): void
  clear(): void
}

/** The conversation: one call at a time. */
export function useConversation(gateway: string): Conversation {
  const [rounds, change] = useReducer(changeRounds, [])
  const call = useRef<{ id: number; controller: AbortController }>(undefined)
  const nextId = useRef(1)
  const stop = (): void => call.current?.controller.abort()
  useEffect(() => stop, [])

  async function run(
    before: readonly Round[],
    question: Question,
    { format, settings, token }: CallOptions,
  ): Promise<void> {
    stop()
    const id = nextId.current++
    const controller = new AbortController()
    call.current = { id, controller }
    const request = format.build([...turnsOf(before), question], settings)
    const grow = (exchange: Exchange): void => change({ type: 'grown', id, exchange })
    const begun: Exchange = { format, request, events: [], pieces: [], outcome: 'running' }
    change({ type: 'asked', round: { id, question, model: settings.model, exchange: begun } })
    const exchange = await send({ format, request, gateway, token, signal: controller.signal, onProgress: grow })
    grow(exchange)
    const requestId = exchange.responseHeaders?.['modelgate-request-id']
    // A rejected call costs nothing and has no facts.
    if (requestId === undefined || exchange.status !== 200) return
    const facts = await fetchCallFacts(gateway, requestId, { stopped: exchange.outcome === 'stopped' })
    if (facts !== undefined) change({ type: 'settled', id, facts })
  }

  return {
    rounds,
    running: rounds.at(-1)?.exchange.outcome === 'running',
    ask: (question, asking) => void run(rounds, question, asking),
    askAgain(round, question, asking) {
      change({ type: 'cut', id: round.id })
      void run(
        rounds.filter(({ id }) => id < round.id),
        question,
        asking,
      )
    },
    stop,
    clear() {
      stop()
      change({ type: 'cut', id: 0 })
    },
  }
}
