import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import { fetchCallFacts } from '../call/call-facts.ts'
import { send } from '../call/send.ts'
import { buildRequest } from '../formats/build-request.ts'
import type { Exchange, Format, Question, Settings } from '../formats/format.ts'
import { alternativesOf, branchOf, changeRounds, type Round, type Rounds, turnsOf } from './rounds.ts'
import { type NotKept, readStoredRounds, storeRounds } from './stored-rounds.ts'

export interface CallOptions {
  readonly format: Format
  readonly settings: Settings
  readonly token: string
}

export interface Conversation {
  /** The shown branch. */
  readonly rounds: readonly Round[]
  readonly running: boolean
  /** What a reload will lose. */
  readonly notKept: NotKept
  ask(question: Question, asking: CallOptions): void
  /** Repeats a question, optionally with a new text, in a new branch. */
  askAgain(round: Round, question: Question, asking: CallOptions): void
  /** Returns the rounds at the same place, the round itself included. */
  alternatives(round: Round): readonly Round[]
  /** Shows the branch of a round. */
  choose(round: Round): void
  stop(): void
  clear(): void
  /** Every branch, to export them. */
  readonly all: Rounds
  /** Replaces the conversation. */
  replace(rounds: Rounds): void
}

/** Newest id of any conversation: rounds with the same id are the same, also if two conversations share them. */
let newestId = 0

/** A conversation that is stored as `key`: one call at a time. */
export function useConversation(gateway: string, key: string): Conversation {
  const [state, change] = useReducer(changeRounds, key, readStoredRounds)
  const [notKept, setNotKept] = useState<NotKept>()
  const rounds = branchOf(state)
  const call = useRef<{ id: number; controller: AbortController }>(undefined)
  newestId = Math.max(newestId, ...state.all.map(({ id }) => id))
  const stop = (): void => call.current?.controller.abort()
  useEffect(() => stop, [])
  const running = state.all.some(({ exchange }) => exchange.outcome === 'running')
  const { length } = state.all
  // Once when a call starts, and again when it has ended: not with each event.
  useEffect(() => setNotKept(storeRounds(key, state)), [running, length, state.last, running ? undefined : state])

  async function run(
    before: readonly Round[],
    question: Question,
    { format, settings, token }: CallOptions,
  ): Promise<void> {
    stop()
    const id = ++newestId
    const controller = new AbortController()
    call.current = { id, controller }
    const request = buildRequest(format, turnsOf(before, question), settings)
    const grow = (exchange: Exchange): void => change({ type: 'grown', id, exchange })
    const begun: Exchange = { format, request, events: [], pieces: [], outcome: 'running' }
    change({
      type: 'started',
      round: { id, parent: before.at(-1)?.id, question, model: settings.model, exchange: begun },
    })
    const exchange = await send({ format, request, gateway, token, signal: controller.signal, onProgress: grow })
    grow(exchange)
    const requestId = exchange.responseHeaders?.['modelgate-request-id']
    // Without an attempt there are no facts.
    if (requestId === undefined || exchange.responseHeaders?.['modelgate-attempts'] === undefined) return
    const facts = await fetchCallFacts(gateway, requestId, { stopped: exchange.outcome === 'stopped' })
    if (facts !== undefined) change({ type: 'settled', id, facts })
  }

  return {
    rounds,
    running,
    notKept,
    ask: (question, asking) => void run(rounds, question, asking),
    askAgain(round, question, asking) {
      void run(rounds.slice(0, rounds.indexOf(round)), question, asking)
    },
    alternatives: (round) => alternativesOf(state, round),
    choose: ({ id }) => change({ type: 'chosen', id }),
    stop,
    clear() {
      stop()
      change({ type: 'cleared' })
    },
    all: state,
    replace(rounds) {
      stop()
      change({ type: 'imported', rounds })
    },
  }
}
