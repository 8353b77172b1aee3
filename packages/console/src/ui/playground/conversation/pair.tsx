import { useState } from 'preact/hooks'
import { cx } from '../../parts/cx.ts'
import type { Question } from '../formats/format.ts'
import { Composer } from './composer.tsx'
import { PairFigures } from './pair-figures.tsx'
import { AnswerView, QuestionView, type RoundProps } from './round.tsx'
import type { Round } from './rounds.ts'
import type { Conversation } from './use-conversation.ts'

type Results = Parameters<RoundProps['onResults']>[0]

export interface PairViewProps {
  /** The rounds at one place of both conversations. A conversation may be shorter, because it shows another branch. */
  first: Round | undefined
  second: Round | undefined
  conversations: readonly [Conversation, Conversation]
  inspected: Round | undefined
  blockedReason: string | undefined
  audioReason: string | undefined
  isNamed: boolean
  onInspect: (round: Round) => void
  /** Repeats the question of one round, in its conversation only. */
  onAskAgain: (round: Round, question: Question) => void
  onResults: (round: Round, results: Results) => void
  /** Repeats an edited question in both conversations. */
  onEdit: (question: Question) => void
  onLeave: () => void
}

/** A question and the responses of both models. */
export function PairView({
  first,
  second,
  conversations,
  inspected,
  blockedReason,
  audioReason,
  isNamed,
  onInspect,
  onAskAgain,
  onResults,
  onEdit,
  onLeave,
}: PairViewProps) {
  const [editing, setEditing] = useState(false)
  const some = first ?? second
  if (some === undefined) return null
  // Rounds from before the comparison are in both conversations.
  const shared = first?.id === second?.id
  const sameQuestion = first === undefined || second === undefined || first.question.text === second.question.text
  const close = (): void => {
    setEditing(false)
    onLeave()
  }
  const answer = (round: Round, conversation: Conversation) => (
    <AnswerView
      round={round}
      alternatives={conversation.alternatives(round)}
      onChoose={conversation.choose}
      isLast={!shared && round === conversation.rounds.at(-1)}
      blockedReason={blockedReason}
      onInspect={() => onInspect(round)}
      onAskAgain={(question) => onAskAgain(round, question)}
      onResults={(results) => onResults(round, results)}
      withMetrics={shared || first === undefined || second === undefined}
    />
  )
  const column = (at: 0 | 1, round: Round | undefined) => (
    <section
      class={cx('column', round !== undefined && round === inspected && 'inspected')}
      aria-label={at === 0 ? 'First model' : 'Second model'}
    >
      {sameQuestion || round === undefined ? null : <p class="aside">Question: {round.question.text}</p>}
      {round === undefined ? <p class="aside">No response here in this version.</p> : answer(round, conversations[at])}
    </section>
  )
  return (
    <li class="round pair">
      {editing ? (
        <Composer
          id={`edit-${some.id}`}
          label="Edit the question"
          first={some.question}
          blockedReason={blockedReason}
          audioReason={audioReason}
          onCancel={close}
          onSend={(edited) => {
            close()
            onEdit(edited)
          }}
        />
      ) : sameQuestion ? (
        <QuestionView question={some.question} onEdit={() => setEditing(true)} />
      ) : null}
      {shared ? (
        answer(some, conversations[0])
      ) : (
        <>
          <div class="columns">
            {column(0, first)}
            {column(1, second)}
          </div>
          {first === undefined || second === undefined ? null : (
            <PairFigures first={first} second={second} isNamed={isNamed} />
          )}
        </>
      )}
    </li>
  )
}
