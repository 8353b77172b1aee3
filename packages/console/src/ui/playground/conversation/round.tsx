import { useMemo, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Code } from '../../parts/code.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { cx } from '../../parts/cx.ts'
import { type Folded, foldPieces } from '../call/fold-response.ts'
import type { Question } from '../formats/format.ts'
import { dataUrl } from '../formats/read.ts'
import { InspectIcon, PencilIcon, RetryIcon } from '../icons.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { CallMetrics, LossNotice } from './call-metrics.tsx'
import { Composer } from './composer.tsx'
import type { Round } from './rounds.ts'
import { ToolCalls } from './tool-calls.tsx'

export interface RoundProps {
  round: Round
  isLast: boolean
  isInspected: boolean
  blockedReason: string | undefined
  onInspect: () => void
  onAskAgain: (question: Question) => void
  /** Called when the focused element is removed. */
  onLeave: () => void
}

/** A question and its response. */
export function RoundView({ round, isLast, isInspected, blockedReason, onInspect, onAskAgain, onLeave }: RoundProps) {
  const [editing, setEditing] = useState(false)
  const { question, exchange } = round
  const close = (): void => {
    setEditing(false)
    onLeave()
  }
  const folded = useMemo(() => foldPieces(exchange.pieces), [exchange.pieces])
  const running = exchange.outcome === 'running'
  return (
    <li class={cx('round', isInspected && 'inspected')}>
      {editing ? (
        <Composer
          id={`edit-${round.id}`}
          label="Edit the question"
          first={question}
          blockedReason={blockedReason}
          onCancel={close}
          onSend={(edited) => {
            close()
            onAskAgain(edited)
          }}
        />
      ) : (
        <QuestionView question={question} onEdit={() => setEditing(true)} />
      )}
      <article class="answer" aria-label={`Answer of ${round.model}`} aria-busy={running}>
        <p class="by">
          <strong>{round.model}</strong> · {exchange.format.name}
        </p>
        <AnswerBody folded={folded} running={running} stopped={exchange.outcome === 'stopped'} />
        {running ? null : (
          <footer>
            <LossNotice round={round} onInspect={onInspect} />
            <CallMetrics round={round} folded={folded} />
            <div class="tools">
              {folded.answer.text === '' ? null : (
                <CopyButton small look="quiet" text={folded.answer.text} what="the answer" />
              )}
              {isLast ? (
                <Button small look="quiet" disabled={blockedReason !== undefined} onClick={() => onAskAgain(question)}>
                  <RetryIcon />
                  Retry
                </Button>
              ) : null}
              <Button small look="quiet" label="Inspect this call" onClick={onInspect}>
                <InspectIcon />
                Inspect
              </Button>
            </div>
          </footer>
        )}
      </article>
    </li>
  )
}

function QuestionView({ question, onEdit }: { question: Question; onEdit: () => void }) {
  return (
    <div class="question">
      <div class="bubble">
        {question.images.length === 0 ? null : (
          <div class="pictures">
            {question.images.map((image) => (
              <img key={image.data.slice(-40) + image.data.length} src={dataUrl(image)} alt={image.name} />
            ))}
          </div>
        )}
        {question.text === '' ? null : <p>{question.text}</p>}
      </div>
      <Button small look="quiet" icon label="Edit this question" onClick={onEdit}>
        <PencilIcon />
      </Button>
    </div>
  )
}

function AnswerBody({ folded, running, stopped }: { folded: Folded; running: boolean; stopped: boolean }) {
  const { answer, error } = folded
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
      <ToolCalls calls={answer.toolCalls} />
      {running && silent ? (
        <p class="waiting">
          <span />
          <span />
          <span />
          <b class="out-of-sight">Waiting for the first token</b>
        </p>
      ) : null}
      {error === undefined ? null : (
        <div class="failure" role="alert">
          <p>{error.message}</p>
          {error.body === null ? null : (
            <details>
              <summary>The whole error</summary>
              <Code text={typeof error.body === 'string' ? error.body : JSON.stringify(error.body, null, 2)} />
            </details>
          )}
        </div>
      )}
      {stopped ? <p class="aside">Stopped.</p> : null}
      {!running && !stopped && silent && error === undefined ? <p class="aside">The model said nothing.</p> : null}
    </>
  )
}
