import type { CallFacts } from '../../calls.ts'
import { foldPieces } from './fold.ts'
import type { Exchange, Question, Turn } from './formats/format.ts'

/** A question, and the call that was made for it. */
export interface Round {
  readonly id: number
  readonly question: Question
  /** As it was asked for; not every format says it in the body. */
  readonly model: string
  readonly exchange: Exchange
  readonly facts?: CallFacts
}

export type Change =
  | { readonly type: 'asked'; readonly round: Round }
  | { readonly type: 'grown'; readonly id: number; readonly exchange: Exchange }
  | { readonly type: 'settled'; readonly id: number; readonly facts: CallFacts }
  /** This round and all behind it are gone. */
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
 * What the model is told of the conversation so far. Rounds without a word of an answer are left out: a question that was
 * refused would be refused again. So are calls of tools, since nobody ran them and every API wants a result for each; and
 * reasoning, which providers take back only with a seal that no person can give.
 */
export const turnsOf = (rounds: readonly Round[]): readonly Turn[] =>
  rounds.flatMap(({ question, exchange }) => {
    const { answer } = foldPieces(exchange.pieces)
    return answer.text.trim() === '' ? [] : [question, { ...answer, reasoning: '', toolCalls: [] }]
  })
