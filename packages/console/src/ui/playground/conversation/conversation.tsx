import { Button } from '../../parts/button.tsx'
import { foldPieces } from '../call/fold-response.ts'
import type { Question } from '../formats/format.ts'
import { PlusIcon } from '../icons.tsx'
import { Composer } from './composer.tsx'
import { RoundView } from './round.tsx'
import type { Round } from './rounds.ts'
import { useFollowing } from './use-following.ts'

export interface ConversationPaneProps {
  rounds: readonly Round[]
  running: boolean
  inspected: Round | undefined
  blockedReason: string | undefined
  onAsk: (question: Question) => void
  onAskAgain: (round: Round, question: Question) => void
  onStop: () => void
  onClear: () => void
  onInspect: (round: Round) => void
}

export function ConversationPane({
  rounds,
  running,
  inspected,
  blockedReason,
  onAsk,
  onAskAgain,
  onStop,
  onClear,
  onInspect,
}: ConversationPaneProps) {
  const { scroller, scrolled } = useFollowing(rounds)
  return (
    <section class="pane talk" aria-labelledby="conversation">
      <div class="pane-head">
        <h2 id="conversation">Conversation</h2>
        <Button small look="quiet" disabled={rounds.length === 0} onClick={onClear}>
          <PlusIcon />
          New chat
        </Button>
      </div>
      <div class="scroller" ref={scroller} onScroll={scrolled}>
        {rounds.length === 0 ? <Welcome blockedReason={blockedReason} /> : null}
        <ol class="rounds">
          {rounds.map((round, at) => (
            <RoundView
              key={round.id}
              round={round}
              isLast={at === rounds.length - 1}
              isInspected={rounds.length > 1 && round === inspected}
              blockedReason={blockedReason}
              onInspect={() => onInspect(round)}
              onAskAgain={(question) => onAskAgain(round, question)}
              onLeave={() => document.getElementById('question')?.focus()}
            />
          ))}
        </ol>
      </div>
      <Composer
        id="question"
        label="Your question"
        blockedReason={blockedReason}
        running={running}
        onSend={onAsk}
        onStop={onStop}
      />
      <p class="out-of-sight" role="status">
        {announced(rounds.at(-1))}
      </p>
    </section>
  )
}

function Welcome({ blockedReason }: { blockedReason: string | undefined }) {
  return (
    <div class="welcome">
      <p class="big">{blockedReason === undefined ? 'Ask the model something' : 'Try a model through this gateway'}</p>
      <p>
        {blockedReason ??
          'Each answer shows what was sent, what it became upstream, what was lost on the way, and what it took.'}
      </p>
    </div>
  )
}

/** Returns the screen reader announcement: the start and the whole text at the end, not each word. */
function announced(round: Round | undefined): string {
  if (round === undefined) return ''
  const { outcome, pieces } = round.exchange
  if (outcome === 'running') return 'The model is answering.'
  if (outcome === 'stopped') return 'Stopped.'
  // Errors are announced separately.
  return outcome === 'failed' ? '' : `Answer: ${foldPieces(pieces).answer.text.slice(0, 1000)}`
}
