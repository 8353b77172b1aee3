import { useMemo, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { cx } from '../../parts/cx.ts'
import { Failure } from '../call/failure.tsx'
import { type Folded, foldPieces } from '../call/fold-response.ts'
import type { Exchange, Question, ToolResult } from '../formats/format.ts'
import { InspectIcon, PencilIcon, RetryIcon } from '../icons.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { Attached } from './attached.tsx'
import { CallMetrics, LossNotice } from './call-metrics.tsx'
import { Composer } from './composer.tsx'
import type { Round } from './rounds.ts'
import { ToolCalls, type ToolCallsProps } from './tool-calls.tsx'

export interface RoundProps {
  round: Round
  /** The rounds at this place, this one included. */
  alternatives: readonly Round[]
  onChoose: (round: Round) => void
  isLast: boolean
  isInspected: boolean
  blockedReason: string | undefined
  audioReason: string | undefined
  onInspect: () => void
  onAskAgain: (question: Question) => void
  /** Sends results of the tool calls in the response. */
  onResults: (results: readonly ToolResult[]) => void
  /** Called when the focused element is removed. */
  onLeave: () => void
}

/** A question and its response. */
export function RoundView({
  round,
  alternatives,
  onChoose,
  isLast,
  isInspected,
  blockedReason,
  audioReason,
  onInspect,
  onAskAgain,
  onResults,
  onLeave,
}: RoundProps) {
  const [editing, setEditing] = useState(false)
  const { question } = round
  const close = (): void => {
    setEditing(false)
    onLeave()
  }
  return (
    <li class={cx('round', isInspected && 'inspected')}>
      {editing ? (
        <Composer
          id={`edit-${round.id}`}
          label="Edit the question"
          first={question}
          blockedReason={blockedReason}
          audioReason={audioReason}
          onCancel={close}
          onSend={(edited) => {
            close()
            onAskAgain(edited)
          }}
        />
      ) : (
        <QuestionView question={question} onEdit={() => setEditing(true)} />
      )}
      <AnswerView
        round={round}
        alternatives={alternatives}
        onChoose={onChoose}
        isLast={isLast}
        blockedReason={blockedReason}
        onInspect={onInspect}
        onAskAgain={onAskAgain}
        onResults={onResults}
      />
    </li>
  )
}

export interface AnswerProps extends Omit<RoundProps, 'isInspected' | 'audioReason' | 'onLeave'> {
  /** False if the figures are shown elsewhere. Default: true. */
  withMetrics?: boolean
}

/** The response to a question. */
export function AnswerView({
  round,
  alternatives,
  onChoose,
  isLast,
  blockedReason,
  onInspect,
  onAskAgain,
  onResults,
  withMetrics = true,
}: AnswerProps) {
  const { question, exchange } = round
  const folded = useMemo(() => foldPieces(exchange.pieces), [exchange.pieces])
  const running = exchange.outcome === 'running'
  return (
    <article class="answer" aria-label={`Response of ${round.model}`} aria-busy={running}>
      <p class="by">
        <strong>{round.model}</strong> · {exchange.format.name}
      </p>
      <AnswerBody
        id={`round-${round.id}`}
        folded={folded}
        exchange={exchange}
        onResults={isLast && exchange.outcome === 'finished' && blockedReason === undefined ? onResults : undefined}
      />
      {running ? null : (
        <footer>
          <LossNotice round={round} onInspect={onInspect} />
          {withMetrics ? <CallMetrics round={round} folded={folded} /> : null}
          <div class="tools">
            {folded.answer.text === '' ? null : (
              <CopyButton small look="quiet" text={folded.answer.text} what="the response" />
            )}
            {isLast ? (
              <Button small look="quiet" disabled={blockedReason !== undefined} onClick={() => onAskAgain(question)}>
                <RetryIcon />
                Retry
              </Button>
            ) : null}
            <Branches round={round} alternatives={alternatives} onChoose={onChoose} />
            <Button small look="quiet" label="Inspect this call" onClick={onInspect}>
              <InspectIcon />
              Inspect
            </Button>
          </div>
        </footer>
      )}
    </article>
  )
}

/** Switches between the branches that Retry and Edit made. */
function Branches({ round, alternatives, onChoose }: Pick<RoundProps, 'round' | 'alternatives' | 'onChoose'>) {
  const at = alternatives.findIndex(({ id }) => id === round.id)
  if (alternatives.length < 2) return null
  const choose = (index: number) => () => {
    const other = alternatives[index]
    if (other !== undefined) onChoose(other)
  }
  return (
    <span class="branches">
      <Button small look="quiet" label="Earlier version" disabled={at === 0} onClick={choose(at - 1)}>
        ‹
      </Button>
      <span>
        <span class="out-of-sight">Version </span>
        {at + 1} of {alternatives.length}
      </span>
      <Button
        small
        look="quiet"
        label="Later version"
        disabled={at === alternatives.length - 1}
        onClick={choose(at + 1)}
      >
        ›
      </Button>
    </span>
  )
}

export function QuestionView({ question, onEdit }: { question: Question; onEdit: () => void }) {
  const files = [...question.images, ...(question.files ?? [])]
  return (
    <div class="question">
      <div class="bubble">
        {files.length === 0 ? null : (
          <div class="pictures">
            {files.map((file) => (
              <Attached key={file.name + file.data.slice(-40) + file.data.length} file={file} />
            ))}
          </div>
        )}
        {question.text === '' ? null : <p>{question.text}</p>}
        {(question.results ?? []).map(({ call, content, failed }, at) => (
          <p key={at}>
            <strong>
              {failed ? 'Error' : 'Result'} of {call.name}:
            </strong>{' '}
            {content === '' ? '(empty)' : content}
          </p>
        ))}
      </div>
      {question.results === undefined ? (
        <Button small look="quiet" icon label="Edit this question" onClick={onEdit}>
          <PencilIcon />
        </Button>
      ) : null}
    </div>
  )
}

interface AnswerBodyProps {
  id: string
  folded: Folded
  exchange: Exchange
  onResults: ToolCallsProps['onResults']
}

function AnswerBody({ id, folded, exchange, onResults }: AnswerBodyProps) {
  const { answer, error } = folded
  const running = exchange.outcome === 'running'
  const stopped = exchange.outcome === 'stopped'
  const silent = answer.text === '' && answer.reasoning === '' && answer.toolCalls.length === 0
  return (
    <>
      {answer.reasoning === '' ? null : (
        <details class="reasoning" open={running && answer.text === ''}>
          <summary>{running && answer.text === '' ? 'Reasoning …' : 'Reasoning'}</summary>
          <p>{answer.reasoning}</p>
        </details>
      )}
      {answer.text === '' ? null : <Markdown text={answer.text} streaming={running} />}
      <ToolCalls id={id} calls={answer.toolCalls} onResults={onResults} />
      {running && silent ? (
        <p class="waiting">
          <span />
          <span />
          <span />
          <b class="out-of-sight">Waiting for the first token</b>
        </p>
      ) : null}
      {error === undefined ? null : <Failure exchange={exchange} error={error} />}
      {stopped ? <p class="aside">Stopped.</p> : null}
      {!running && !stopped && silent && error === undefined ? (
        <p class="aside">The model returned no content.</p>
      ) : null}
    </>
  )
}
