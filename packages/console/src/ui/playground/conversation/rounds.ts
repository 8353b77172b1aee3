import type { CallFacts } from '../../../calls.ts'
import { foldPieces } from '../call/fold-response.ts'
import type { Exchange, Question, Turn } from '../formats/format.ts'

/** A question and its call. */
export interface Round {
  readonly id: number
  readonly question: Question
  /** The requested model; not every format has it in the body. */
  readonly model: string
  readonly exchange: Exchange
  readonly facts?: CallFacts
}

export type Change =
  | { readonly type: 'asked'; readonly round: Round }
  | { readonly type: 'grown'; readonly id: number; readonly exchange: Exchange }
  | { readonly type: 'settled'; readonly id: number; readonly facts: CallFacts }
  /** Removes this round and all after it. */
  | { readonly type: 'cut'; readonly id: number }

export function changeRounds(rounds: readonly Round[], change: Change): readonly Round[] {
  const alter = (id: number, more: Partial<Round>): readonly Round[] =>
    rounds.map((round) => (round.id === id ? { ...round, ...more } : round))
  switch (change.type) {
    case 'asked':
      return [...rounds, change.round]
    case 'grown':
      return alter(change.id, { exchange: change.exchange })
    case 'settled':
      return alter(change.id, { facts: change.facts })
    case 'cut':
      return rounds.filter(({ id }) => id < change.id)
    default:
      return change satisfies never
  }
}

/**
 * Returns the turns to send. Rounds without any response text are left out: a question that was rejected would be rejected again.
 * So are tool calls, since the Playground does not execute them and every API requires a result for each; and reasoning, which
 * providers accept only with a seal.
 */
export const turnsOf = (rounds: readonly Round[]): readonly Turn[] =>
  rounds.flatMap(({ question, exchange }) => {
    const { answer } = foldPieces(exchange.pieces)
    return answer.text.trim() === '' ? [] : [question, { ...answer, reasoning: '', toolCalls: [] }]
  })
