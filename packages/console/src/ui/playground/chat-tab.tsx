import { useEffect, useState } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { modelsFor } from './call/models.ts'
import { ConversationPane } from './conversation/conversation.tsx'
import type { Round } from './conversation/rounds.ts'
import { conversationKey } from './conversation/stored-rounds.ts'
import { useComparison } from './conversation/use-comparison.ts'
import { type CallOptions, useConversation } from './conversation/use-conversation.ts'
import { Inspector } from './inspect/inspector.tsx'
import { focusInspector, focusSettings, InspectorPane, Panes, type TabProps } from './panes.tsx'
import { type Draft, readDraft } from './settings/draft.ts'
import { SettingsPane } from './settings/settings.tsx'
import { ShareMenu } from './share/share-menu.tsx'
import { useShared } from './share/use-shared.ts'

export interface ChatTabProps extends TabProps {
  /** False: another tab is shown. The conversation continues. */
  isShown: boolean
  /** Shows this tab. */
  onShow: () => void
}

/** The tab that chats with a model, or with two. */
export function ChatTab({ gateway, canExplain, frame, wide, onWide, narrow, isShown, onShow }: ChatTabProps) {
  const { checked, isOpen } = frame
  const { token } = frame.kept
  const { draft, setDraft, prompt, notice, showShared, setNotice } = useShared(onShow)
  const conversation = useConversation(gateway, conversationKey)
  const { second, other, compareWith, end } = useComparison(gateway, conversation)
  const [inspectedId, setInspectedId] = useState<number>()
  useEffect(() => {
    if (checked.state !== 'good') return
    const [first] = modelsFor(checked.models, 'generate')
    setDraft((before) => ({ ...before, model: before.model || (first?.id ?? '') }))
  }, [checked])

  const { settings, wrongs } = readDraft(draft)
  const { rounds } = conversation
  const running = conversation.running || other.running
  const [inspectsSecond, setInspectsSecond] = useState(false)
  const columns = second === undefined ? [rounds] : [rounds, other.rounds]
  const inspected =
    columns.flat().find(({ id }) => id === inspectedId) ?? (columns[inspectsSecond ? 1 : 0] ?? rounds).at(-1)
  const asking: CallOptions | undefined = settings === undefined ? undefined : { format: draft.format, settings, token }
  const inspect = ({ id }: Round): void => {
    setInspectedId(id)
    setInspectsSecond(second !== undefined && rounds.every((round) => round.id !== id))
    focusInspector()
  }

  const withSecond = (options: CallOptions): CallOptions => ({
    ...options,
    settings: { ...options.settings, model: (second ?? '').trim() },
  })
  const keep = (which: 0 | 1): void => {
    if (which === 1) setDraft((before) => ({ ...before, model: second ?? '' }))
    setInspectedId(undefined)
    end({ keepsSecond: which === 1 })
  }

  const showSettings = (): void => {
    frame.onOpen(true)
    focusSettings()
  }
  const settingsPane = (
    <SettingsPane
      key="settings"
      frame={frame}
      draft={draft}
      wrongs={wrongs}
      onDraft={(more: Partial<Draft>) => setDraft((before) => ({ ...before, ...more }))}
      second={second}
      onSecond={(model) => (model === undefined ? keep(0) : compareWith(model))}
    />
  )
  return (
    <Panes tab="chat" isShown={isShown} wide={wide} comparing={second !== undefined}>
      {narrow || !isShown ? null : settingsPane}
      <ConversationPane
        key="conversation"
        pair={
          second === undefined
            ? undefined
            : {
                models: [draft.model, second],
                conversations: [conversation, other],
                isNamed: canExplain,
                onAskAgain(which, round, question) {
                  setInspectedId(undefined)
                  if (asking === undefined) return
                  if (which === 0) conversation.askAgain(round, question, asking)
                  else other.askAgain(round, question, withSecond(asking))
                },
                onResults(which, question) {
                  setInspectedId(undefined)
                  if (asking === undefined) return
                  if (which === 0) conversation.ask(question, asking)
                  else other.ask(question, withSecond(asking))
                },
                onKeep: keep,
              }
        }
        rounds={rounds}
        running={running}
        inspected={inspected}
        blockedReason={sendBlockedReason(draft, { isRight: asking !== undefined, isOpen, second })}
        audioReason={
          draft.format.lacks.includes('audio')
            ? `${draft.format.name} has no audio input: choose another client format.`
            : undefined
        }
        note={noteOf(conversation.notKept ?? other.notKept)}
        onExample={(example) => setDraft((before) => ({ ...before, ...example.draft }))}
        onAsk={(question) => {
          setInspectedId(undefined)
          frame.onOpen(false)
          if (asking === undefined) return
          conversation.ask(question, asking)
          if (second !== undefined) other.ask(question, withSecond(asking))
        }}
        onAskAgain={(round, question) => {
          setInspectedId(undefined)
          if (asking !== undefined) conversation.askAgain(round, question, asking)
        }}
        alternatives={conversation.alternatives}
        onChoose={conversation.choose}
        onStop={() => {
          conversation.stop()
          other.stop()
        }}
        onClear={() => {
          conversation.clear()
          other.clear()
        }}
        onInspect={inspect}
        prompt={prompt}
        notice={
          notice === undefined ? null : (
            <Notice kind={notice.kind}>
              {notice.text}{' '}
              <Button small look="quiet" onClick={() => setNotice(undefined)}>
                Close
              </Button>
            </Notice>
          )
        }
        menu={
          <ShareMenu
            rounds={conversation.all}
            shared={() => ({ draft, prompt: promptOf(rounds) })}
            onMessage={(text, kind) => setNotice({ text, kind })}
            onImport={(read) => {
              if (second !== undefined) keep(0)
              conversation.replace(read.rounds)
              setInspectedId(undefined)
              if (read.shared !== undefined) showShared({ ...read.shared, prompt: '' })
            }}
          />
        }
        onSettings={narrow ? showSettings : undefined}
        isShown={isShown}
      />
      {narrow && isShown ? settingsPane : null}
      {isShown ? (
        <InspectorPane key="request" wide={wide} onWide={onWide}>
          <Inspector
            exchange={inspected?.exchange}
            facts={inspected?.facts}
            base={gateway}
            token={token}
            canExplain={canExplain}
          />
        </InspectorPane>
      ) : null}
    </Panes>
  )
}

/** Returns the text of the input, else the last question. */
function promptOf(rounds: readonly Round[]): string {
  const field = document.getElementById('question')
  const typed = field instanceof HTMLTextAreaElement ? field.value : ''
  return typed.trim() === '' ? (rounds.at(-1)?.question.text ?? '') : typed
}

const noteOf = (notKept: keyof typeof notKeptTexts | undefined): string | undefined =>
  notKept === undefined ? undefined : notKeptTexts[notKept]

const notKeptTexts = {
  attachments: 'The attachments are too large to keep: a reload removes them from this conversation.',
  conversation: 'The browser has no room for this conversation: a reload removes it.',
}

/** Returns the reason why nothing can be sent. */
function sendBlockedReason(
  { model }: Draft,
  { isRight, isOpen, second }: { isRight: boolean; isOpen: boolean; second: string | undefined },
): string | undefined {
  if (model.trim() === '') return isOpen ? 'Choose a model first.' : 'Paste a token, check it and choose a model first.'
  if (second?.trim() === '') return 'Choose the second model first.'
  return isRight ? undefined : 'Correct the settings first.'
}
