import type { CallFacts } from '../../../calls.ts'
import { foldPieces } from '../call/fold-response.ts'
import type { Exchange, Question, Turn } from '../formats/format.ts'

/** A question and its call. */
export interface Round {
  readonly id: number
  /** The round before it; undefined for the first one. Rounds of the same parent are branches of one place. */
  readonly parent: number | undefined
  readonly question: Question
  /** The requested model; not every format has it in the body. */
  readonly model: string
  readonly exchange: Exchange
  readonly facts?: CallFacts
}

/** Every round, in the order of their start, and the last one of the shown branch. */
export interface Rounds {
  readonly all: readonly Round[]
  readonly last: number | undefined
}

export const noRounds: Rounds = { all: [], last: undefined }

export type Change =
  | { readonly type: 'started'; readonly round: Round }
  | { readonly type: 'grown'; readonly id: number; readonly exchange: Exchange }
  | { readonly type: 'settled'; readonly id: number; readonly facts: CallFacts }
  /** Shows the branch of this round, with the newest rounds after it. */
  | { readonly type: 'chosen'; readonly id: number }
  | { readonly type: 'cleared' }
  | { readonly type: 'imported'; readonly rounds: Rounds }

export function changeRounds(rounds: Rounds, change: Change): Rounds {
  const alter = (id: number, more: Partial<Round>): Rounds => ({
    ...rounds,
    all: rounds.all.map((round) => (round.id === id ? { ...round, ...more } : round)),
  })
  switch (change.type) {
    case 'started':
      return { all: [...rounds.all, change.round], last: change.round.id }
    case 'grown':
      return alter(change.id, { exchange: change.exchange })
    case 'settled':
      return alter(change.id, { facts: change.facts })
    case 'chosen':
      return { ...rounds, last: newestAfter(rounds.all, change.id) }
    case 'cleared':
      return noRounds
    case 'imported':
      return change.rounds
    default:
      return change satisfies never
  }
}

/** Returns the last round of the newest branch below a round. */
function newestAfter(all: readonly Round[], id: number): number {
  let at = id
  for (;;) {
    const child = all.findLast(({ parent }) => parent === at)
    if (child === undefined) return at
    at = child.id
  }
}

/** Returns the shown branch: the rounds up to the last one. */
export function branchOf({ all, last }: Rounds): readonly Round[] {
  const byId = new Map(all.map((round) => [round.id, round]))
  const branch: Round[] = []
  for (let round = last === undefined ? undefined : byId.get(last); round !== undefined; ) {
    branch.unshift(round)
    round = round.parent === undefined ? undefined : byId.get(round.parent)
  }
  return branch
}

/** Returns the rounds that are alternatives of each other, a round itself included. */
export const alternativesOf = ({ all }: Rounds, { parent }: Round): readonly Round[] =>
  all.filter((other) => other.parent === parent)

/**
 * Returns the turns to send. Rounds without a response are left out: a question that was rejected would be rejected again. Tool calls
 * are kept if the next question has their results, because every API requires a result for each call. Reasoning is kept only with
 * such calls: providers require it there, with their signature.
 */
export function turnsOf(rounds: readonly Round[], next: Question): readonly Turn[] {
  const turns: Turn[] = []
  const answered = rounds.flatMap(({ question, exchange }) => {
    const { answer } = foldPieces(exchange.pieces)
    return answer.text.trim() === '' && answer.toolCalls.length === 0 ? [] : [{ question, answer }]
  })
  for (const [at, { question, answer }] of answered.entries()) {
    const following = at + 1 < answered.length ? answered[at + 1]?.question : next
    const results = following?.results ?? []
    const isComplete = results.length > 0 && results.length === answer.toolCalls.length
    if (isComplete) turns.push(question, answer)
    else if (answer.text.trim() !== '')
      turns.push(question, { ...answer, reasoning: '', reasoningSignature: undefined, toolCalls: [] })
  }
  return [...turns, next]
}
