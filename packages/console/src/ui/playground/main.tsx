import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { gatewayAt } from '../address.ts'
import { fetchInfo } from '../info.ts'
import { buttonClass } from '../parts/button.tsx'
import { Header } from '../parts/frame.tsx'
import { type Checked, checkToken } from './call/models.ts'
import { ConversationPane } from './conversation/conversation.tsx'
import type { Round } from './conversation/rounds.ts'
import { useConversation } from './conversation/use-conversation.ts'
import { Inspector } from './inspect/inspector.tsx'
import { type Draft, firstDraft, readDraft } from './settings/draft.ts'
import { SettingsPane } from './settings/settings.tsx'
import { readStoredToken, type StoredToken, storeToken } from './settings/token.ts'

const toRoot = '../'

function Playground() {
  const [gateway] = useState(() => gatewayAt(location.href, toRoot))
  const [canExplain, setCanExplain] = useState(false)
  const [draft, setDraft] = useState(firstDraft)
  const { kept, checked, changeToken, check } = useToken(gateway, (models) =>
    setDraft((before) => ({ ...before, model: before.model || (models[0] ?? '') })),
  )
  const conversation = useConversation(gateway)
  const [inspectedId, setInspectedId] = useState<number>()
  const [settingsOpen, setSettingsOpen] = useState(true)
  const [wide, setWide] = useState(false)
  const inspector = useRef<HTMLElement>(null)
  useEffect(() => {
    fetchInfo(toRoot).then(
      ({ explain }) => setCanExplain(explain),
      () => undefined,
    )
  }, [])

  const { settings, wrongs } = readDraft(draft)
  const { rounds, running } = conversation
  const inspected = rounds.find(({ id }) => id === inspectedId) ?? rounds.at(-1)
  const asking = settings === undefined ? undefined : { format: draft.format, settings, token: kept.token }
  const inspect = ({ id }: Round): void => {
    setInspectedId(id)
    inspector.current?.scrollIntoView({ block: 'nearest' })
    inspector.current?.focus({ preventScroll: true })
  }

  return (
    <div class="playground">
      <Header home={toRoot}>
        <nav aria-label="Pages">
          <a href="./playground" aria-current="page">
            Playground
          </a>
        </nav>
      </Header>
      <main id="main" class={wide ? 'wide' : ''} tabIndex={-1}>
        <h1 class="out-of-sight">Playground</h1>
        <SettingsPane
          kept={kept}
          checked={checked}
          open={settingsOpen}
          onOpen={setSettingsOpen}
          onToken={changeToken}
          onCheck={() => void check()}
          draft={draft}
          wrongs={wrongs}
          onDraft={(more: Partial<Draft>) => setDraft((before) => ({ ...before, ...more }))}
        />
        <ConversationPane
          rounds={rounds}
          running={running}
          inspected={inspected}
          blockedReason={sendBlockedReason(draft, asking !== undefined)}
          onAsk={(question) => {
            setInspectedId(undefined)
            setSettingsOpen(false)
            if (asking !== undefined) conversation.ask(question, asking)
          }}
          onAskAgain={(round, question) => {
            setInspectedId(undefined)
            if (asking !== undefined) conversation.askAgain(round, question, asking)
          }}
          onStop={conversation.stop}
          onClear={conversation.clear}
          onInspect={inspect}
        />
        <section class="pane request" aria-labelledby="request" ref={inspector} tabIndex={-1}>
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
          <Inspector exchange={inspected?.exchange} base={gateway} token={kept.token} canExplain={canExplain} />
        </section>
      </main>
    </div>
  )
}

/** Returns the reason why nothing can be sent. */
function sendBlockedReason({ model }: Draft, isRight: boolean): string | undefined {
  if (model.trim() === '') return 'Paste a token, check it and choose a model first.'
  return isRight ? undefined : 'Something in the settings is wrong.'
}

/** Keeps the token and the gateway's verdict about it. A stored token is checked at once. */
function useToken(gateway: string, onModels: (models: readonly string[]) => void) {
  const [kept, setKept] = useState(readStoredToken)
  const [checked, setChecked] = useState<Checked>({ state: 'unchecked' })
  const latest = useRef(kept.token)

  async function check(): Promise<void> {
    const { token } = kept
    setChecked({ state: 'checking' })
    const told = await checkToken(gateway, token)
    // The token may have changed in the meantime.
    if (latest.current !== token) return
    setChecked(told)
    if (told.state === 'good') onModels(told.models)
  }
  function changeToken(next: StoredToken): void {
    storeToken(next)
    setKept(next)
    if (next.token === latest.current) return
    latest.current = next.token
    setChecked({ state: 'unchecked' })
  }
  useEffect(() => {
    if (kept.token !== '') void check()
  }, [])
  return { kept, checked, changeToken, check }
}

const app = document.getElementById('app')
if (app !== null) render(<Playground />, app)
