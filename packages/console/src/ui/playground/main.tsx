import type { ModelDescription } from '@modelgate/core'
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Info } from '../../info.ts'
import { gatewayAt } from '../address.ts'
import { fetchInfo } from '../info.ts'
import { Button, buttonClass } from '../parts/button.tsx'
import { cx } from '../parts/cx.ts'
import { Header } from '../parts/frame.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageLinks } from '../parts/page-links.tsx'
import { useMedia } from '../parts/use-media.ts'
import { type Checked, checkToken, modelsFor } from './call/models.ts'
import { ConversationPane } from './conversation/conversation.tsx'
import type { Round } from './conversation/rounds.ts'
import { conversationKey } from './conversation/stored-rounds.ts'
import { useComparison } from './conversation/use-comparison.ts'
import { type CallOptions, useConversation } from './conversation/use-conversation.ts'
import { Inspector } from './inspect/inspector.tsx'
import { type Draft, firstDraft, readDraft } from './settings/draft.ts'
import { SettingsPane } from './settings/settings.tsx'
import {
  readStoredToken,
  type StoredToken,
  storeToken,
  storeTokenOfTab,
  takeTokenFromAddress,
} from './settings/token.ts'
import { takeSharedFromAddress } from './share/link.ts'
import { ShareMenu } from './share/share-menu.tsx'
import type { Shared } from './share/shared-draft.ts'

const toRoot = '../'

// Before anything is drawn: the token leaves the address bar at once.
const tokenOfLink = takeTokenFromAddress()
const sharedByLink = takeSharedFromAddress()

function Playground() {
  const [gateway] = useState(() => gatewayAt(location.href, toRoot))
  const [info, setInfo] = useState<Info>()
  const isOpen = info?.requiresToken === false
  const { draft, setDraft, prompt, notice, showShared, setNotice } = useShared()
  const { kept, checked, changeToken, check } = useToken(gateway, isOpen, (models) =>
    setDraft((before) => ({ ...before, model: before.model || (modelsFor(models, 'generate')[0]?.id ?? '') })),
  )
  const conversation = useConversation(gateway, conversationKey)
  const { second, other, compareWith, end } = useComparison(gateway, conversation)
  const [inspectedId, setInspectedId] = useState<number>()
  const [settingsOpen, setSettingsOpen] = useState(true)
  const [wide, setWide] = useState(false)
  const narrow = useMedia('(max-width: 68rem)')
  const inspector = useRef<HTMLElement>(null)
  useEffect(() => {
    fetchInfo(toRoot).then(setInfo, () => undefined)
  }, [])

  const { settings, wrongs } = readDraft(draft)
  const { rounds } = conversation
  const running = conversation.running || other.running
  const [inspectsSecond, setInspectsSecond] = useState(false)
  const columns = second === undefined ? [rounds] : [rounds, other.rounds]
  const inspected =
    columns.flat().find(({ id }) => id === inspectedId) ?? (columns[inspectsSecond ? 1 : 0] ?? rounds).at(-1)
  const asking: CallOptions | undefined =
    settings === undefined ? undefined : { format: draft.format, settings, token: kept.token }
  const inspect = ({ id }: Round): void => {
    setInspectedId(id)
    setInspectsSecond(second !== undefined && rounds.every((round) => round.id !== id))
    inspector.current?.scrollIntoView({ block: 'nearest' })
    inspector.current?.focus({ preventScroll: true })
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
    setSettingsOpen(true)
    const pane = document.getElementById('settings')
    pane?.scrollIntoView({ block: 'start' })
    pane?.focus({ preventScroll: true })
  }
  const settingsPane = (
    <SettingsPane
      key="settings"
      kept={kept}
      isOpen={isOpen}
      checked={checked}
      open={settingsOpen}
      onOpen={setSettingsOpen}
      onToken={changeToken}
      onCheck={() => void check()}
      draft={draft}
      wrongs={wrongs}
      onDraft={(more: Partial<Draft>) => setDraft((before) => ({ ...before, ...more }))}
      second={second}
      onSecond={(model) => (model === undefined ? keep(0) : compareWith(model))}
    />
  )
  return (
    <div class="playground">
      <Header home={toRoot}>
        <PageLinks info={info} folder="./" current="playground" />
      </Header>
      <main id="main" class={cx(wide && 'wide', second !== undefined && 'comparing')} tabIndex={-1}>
        <h1 class="out-of-sight">Playground</h1>
        {narrow ? null : settingsPane}
        <ConversationPane
          key="conversation"
          pair={
            second === undefined
              ? undefined
              : {
                  models: [draft.model, second],
                  conversations: [conversation, other],
                  isNamed: info?.explain === true,
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
            setSettingsOpen(false)
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
        />
        {narrow ? settingsPane : null}
        <section key="request" class="pane request" aria-labelledby="request" ref={inspector} tabIndex={-1}>
          <div class="pane-head">
            <h2 id="request">Inspector</h2>
            <button
              type="button"
              class={`${buttonClass({ look: 'quiet', small: true })} widen`}
              aria-pressed={wide}
              onClick={() => setWide(!wide)}
            >
              {wide ? 'Narrower' : 'Wider'}
            </button>
          </div>
          <Inspector
            exchange={inspected?.exchange}
            facts={inspected?.facts}
            base={gateway}
            token={kept.token}
            canExplain={info?.explain === true}
          />
        </section>
      </main>
    </div>
  )
}

/** Returns the text of the input, else the last question. */
function promptOf(rounds: readonly Round[]): string {
  const field = document.getElementById('question')
  const typed = field instanceof HTMLTextAreaElement ? field.value : ''
  return typed.trim() === '' ? (rounds.at(-1)?.question.text ?? '') : typed
}

interface PageNotice {
  readonly text: string
  readonly kind: 'good' | 'warn' | 'bad'
}

const fromLink: PageNotice = {
  kind: 'warn',
  text: 'A link filled in the prompt and the settings, extra fields included. Check them before you send.',
}
const damagedLink: PageNotice = {
  kind: 'bad',
  text: 'The link is damaged: it was cut, or it is from another program. Ask for it again.',
}

/** The settings and the first text of the input, which a link can fill in. A link sends nothing. */
function useShared() {
  const first = typeof sharedByLink === 'object' ? sharedByLink : undefined
  const [draft, setDraft] = useState(first?.draft ?? firstDraft)
  const [prompt, setPrompt] = useState({ key: 0, text: first?.prompt ?? '' })
  const [notice, setNotice] = useState<PageNotice | undefined>(noticeOf(sharedByLink))
  const showShared = (shared: Shared): void => {
    setDraft((before) => ({ ...shared.draft, model: shared.draft.model || before.model }))
    setPrompt(({ key }) => ({ key: key + 1, text: shared.prompt }))
  }
  useEffect(() => {
    // A link that is opened in this tab changes only the fragment.
    const followed = (): void => {
      const shared = takeSharedFromAddress()
      if (shared === undefined) return
      setNotice(noticeOf(shared))
      if (shared !== 'damaged') showShared(shared)
    }
    addEventListener('hashchange', followed)
    return () => removeEventListener('hashchange', followed)
  }, [])
  return { draft, setDraft, prompt, notice, setNotice, showShared }
}

const noticeOf = (shared: typeof sharedByLink): PageNotice | undefined =>
  shared === undefined ? undefined : shared === 'damaged' ? damagedLink : fromLink

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

/** Keeps the token and the gateway's verdict about it. The token of a link, or a stored one, is checked at once. */
function useToken(gateway: string, isOpen: boolean, onModels: (models: readonly ModelDescription[]) => void) {
  const [stored, setStored] = useState(readFirstToken)
  const [checked, setChecked] = useState<Checked>({ state: 'unchecked' })
  // A token has no effect at an open gateway, and is not sent to it.
  const kept = isOpen ? { ...stored, token: '' } : stored
  const latest = useRef(kept.token)

  async function check(token = kept.token): Promise<void> {
    latest.current = token
    setChecked({ state: 'checking' })
    const result = await checkToken(gateway, token)
    // The token may have changed in the meantime.
    if (latest.current !== token) return
    setChecked(result)
    if (result.state === 'good') onModels(result.models)
  }
  function changeToken(next: StoredToken): void {
    storeToken(next)
    setStored(next)
    if (next.token === latest.current) return
    latest.current = next.token
    setChecked({ state: 'unchecked' })
  }
  useEffect(() => {
    if (isOpen || kept.token !== '') void check()
  }, [isOpen])
  useEffect(() => {
    // A link that is opened in this tab changes only the fragment.
    const followed = (): void => {
      const token = takeTokenFromAddress()
      if (token === undefined) return
      storeTokenOfTab(token)
      setStored({ token, remembered: false })
      void check(token)
    }
    addEventListener('hashchange', followed)
    return () => removeEventListener('hashchange', followed)
  }, [])
  return { kept, checked, changeToken, check }
}

function readFirstToken(): StoredToken {
  if (tokenOfLink === undefined) return readStoredToken()
  storeTokenOfTab(tokenOfLink)
  return { token: tokenOfLink, remembered: false }
}

const app = document.getElementById('app')
if (app !== null) render(<Playground />, app)
