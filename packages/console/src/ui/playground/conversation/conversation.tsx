import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { foldPieces } from '../call/fold-response.ts'
import type { Question } from '../formats/format.ts'
import { PlusIcon } from '../icons.tsx'
import { Composer } from './composer.tsx'

import { type Example, examples, questionOf } from './examples.ts'
import { PairView } from './pair.tsx'

import { RoundView } from './round.tsx'
import type { Round } from './rounds.ts'
import type { Conversation } from './use-conversation.ts'
import { useFollowing } from './use-following.ts'

/** Two conversations side by side. */
export interface Pair {
  readonly models: readonly [string, string]
  readonly conversations: readonly [Conversation, Conversation]
  /** False: the gateway hides what is behind it. */
  readonly isNamed: boolean
  readonly onAskAgain: (which: 0 | 1, round: Round, question: Question) => void
  /** Sends the results of tools to one of the models. */
  readonly onResults: (which: 0 | 1, question: Question) => void
  /** Ends the comparison and keeps one of the conversations. */
  readonly onKeep: (which: 0 | 1) => void
}

export interface ConversationPaneProps {
  /** Present while two models are compared. */
  pair: Pair | undefined
  rounds: readonly Round[]
  running: boolean
  inspected: Round | undefined
  blockedReason: string | undefined
  audioReason: string | undefined
  /** Note about the stored conversation. */
  note?: string | undefined
  onExample: (example: Example) => void
  onAsk: (question: Question) => void
  onAskAgain: (round: Round, question: Question) => void
  alternatives: (round: Round) => readonly Round[]
  onChoose: (round: Round) => void
  onStop: () => void
  onClear: () => void
  onInspect: (round: Round) => void
  /** Menu in the head of the pane. */
  menu: ComponentChildren
  /** Shown above the input. */
  notice: ComponentChildren
  /** Text of the input at first; another key begins a new input. */
  prompt: { readonly key: number; readonly text: string }
  /** Moves to the settings, on screens where they are elsewhere on the page. */
  onSettings: (() => void) | undefined
  /** False: another tab is shown, where Esc means something else. */
  isShown: boolean
}

export function ConversationPane({
  pair,
  rounds,
  running,
  inspected,
  blockedReason,
  audioReason,
  note,
  onExample,
  onAsk,
  onAskAgain,
  alternatives,
  onChoose,
  onStop,
  onClear,
  onInspect,
  menu,
  notice,
  prompt,
  onSettings,
  isShown,
}: ConversationPaneProps) {
  const [filled, setFilled] = useState<{ title: string; question: Question; prompt: typeof prompt.key }>()
  // A prompt that arrives later, from a link, replaces the example.
  const example = filled?.prompt === prompt.key ? filled : undefined
  const others = pair?.conversations[1].rounds ?? noOthers
  const newest = rounds.length < others.length ? others : rounds
  const { scroller, scrolled } = useFollowing(newest, others)
  useEffect(() => {
    if (!running || !isShown) return undefined
    const pressed = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') onStop()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [running, onStop, isShown])
  return (
    <section class="pane talk" aria-labelledby="conversation">
      <div class="pane-head">
        <h2 id="conversation" class="talk-title">
          Conversation
        </h2>
        {onSettings === undefined ? null : (
          <Button small look="quiet" onClick={onSettings}>
            Settings
          </Button>
        )}
        {menu}
        <Button small look="quiet" disabled={rounds.length === 0} onClick={onClear}>
          <PlusIcon />
          New chat
        </Button>
      </div>
      {pair === undefined ? null : <KeepBar pair={pair} running={running} />}
      <div class="scroller" ref={scroller} onScroll={scrolled}>
        {rounds.length === 0 ? (
          <Welcome
            blockedReason={blockedReason}
            onExample={(example) => {
              onExample(example)
              setFilled({ title: example.title, question: questionOf(example), prompt: prompt.key })
            }}
          />
        ) : null}
        <ol class="rounds">
          {pair === undefined
            ? null
            : newest.map((_, at) => (
                <PairView
                  key={`pair-${at}`}
                  first={rounds[at]}
                  second={others[at]}
                  conversations={pair.conversations}
                  inspected={inspected}
                  blockedReason={blockedReason}
                  audioReason={audioReason}
                  isNamed={pair.isNamed}
                  onInspect={onInspect}
                  onAskAgain={(round, question) => pair.onAskAgain(round === rounds[at] ? 0 : 1, round, question)}
                  onResults={(round, results) =>
                    pair.onResults(round === rounds[at] ? 0 : 1, { role: 'user', text: '', images: [], results })
                  }
                  onEdit={(question) => {
                    for (const which of [0, 1] as const) {
                      const round = [rounds, others][which]?.[at]
                      if (round !== undefined) pair.onAskAgain(which, round, question)
                    }
                  }}
                  onLeave={() => document.getElementById('question')?.focus()}
                />
              ))}
          {pair !== undefined
            ? null
            : rounds.map((round, at) => (
                <RoundView
                  key={round.id}
                  round={round}
                  alternatives={alternatives(round)}
                  onChoose={onChoose}
                  isLast={at === rounds.length - 1}
                  isInspected={rounds.length > 1 && round === inspected}
                  blockedReason={blockedReason}
                  audioReason={audioReason}
                  onInspect={() => onInspect(round)}
                  onAskAgain={(question) => onAskAgain(round, question)}
                  onResults={(results) => onAsk({ role: 'user', text: '', images: [], results })}
                  onLeave={() => document.getElementById('question')?.focus()}
                />
              ))}
        </ol>
      </div>
      {notice}
      {note === undefined ? null : <p class="hint kept-note">{note}</p>}
      <Composer
        key={`${prompt.key} ${example?.title ?? ''}`}
        first={example?.question ?? { role: 'user', text: prompt.text, images: [] }}
        audioReason={audioReason}
        id="question"
        label="Your question"
        blockedReason={blockedReason}
        running={running}
        onSend={onAsk}
        onStop={onStop}
        earlier={newest.map(({ question }) => question.text).filter(Boolean)}
      />
      <p class="out-of-sight" role="status">
        {pair === undefined ? announced(rounds.at(-1)) : announcedPair(rounds.at(-1), others.at(-1))}
      </p>
    </section>
  )
}

const noOthers: readonly Round[] = []

function KeepBar({ pair: { models, onKeep }, running }: { pair: Pair; running: boolean }) {
  return (
    <section class="keep-bar" aria-label="End the comparison">
      {models.map((model, at) => (
        <Button
          key={at}
          small
          disabled={running}
          label={`Keep ${model || 'it'}, the ${at === 0 ? 'first' : 'second'} conversation`}
          onClick={() => onKeep(at === 0 ? 0 : 1)}
        >
          Keep {model || 'it'}
        </Button>
      ))}
    </section>
  )
}

interface WelcomeProps {
  blockedReason: string | undefined
  onExample: (example: Example) => void
}

function Welcome({ blockedReason, onExample }: WelcomeProps) {
  return (
    <div class="welcome">
      <p class="big">{blockedReason === undefined ? 'Ask the model something' : 'Try a model through this gateway'}</p>
      <p>
        {blockedReason ??
          'The Inspector shows each request, the upstream request, its losses and each event of the response.'}
      </p>
      {blockedReason === undefined ? (
        <ul class="examples" aria-label="Examples">
          {examples.map((example) => (
            <li key={example.title}>
              <button type="button" class="button" onClick={() => onExample(example)}>
                {example.title}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  )
}

/** Returns the screen reader announcement: the start and the whole text at the end, not each word. */
function announced(round: Round | undefined): string {
  if (round === undefined) return ''
  const { outcome, pieces } = round.exchange
  if (outcome === 'running') return 'The model is responding.'
  if (outcome === 'stopped') return 'Stopped.'
  // Errors are announced separately.
  return outcome === 'failed' ? '' : `Response: ${foldPieces(pieces).answer.text.slice(0, 1000)}`
}

/** Announces both responses at once, when both have ended. */
function announcedPair(first: Round | undefined, second: Round | undefined): string {
  if (first === undefined || second === undefined || first.id === second.id) return announced(first ?? second)
  if (isRunning(first) || isRunning(second)) return 'The models are responding.'
  return [first, second].map((round) => `${round.model}: ${announced(round) || 'Failed.'}`).join(' ')
}

const isRunning = ({ exchange }: Round): boolean => exchange.outcome === 'running'
