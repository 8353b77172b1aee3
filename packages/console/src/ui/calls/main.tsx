import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { readAdminToken, storeAdminToken } from '../admin/admin-token.ts'
import { TokenForm } from '../admin/token-form.tsx'
import { usePageInfo } from '../admin/use-page-info.ts'
import { useSettled } from '../admin/use-settled.ts'
import { Button, buttonClass } from '../parts/button.tsx'
import { cx } from '../parts/cx.ts'
import { Header } from '../parts/frame.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageLinks } from '../parts/page-links.tsx'
import type { Filters, RecentCallDetails } from './api.ts'
import { CallDetail } from './call-detail.tsx'
import { CallsList } from './calls-list.tsx'
import { FilterFields, noFilters } from './filters.tsx'
import { type Connection, useCalls } from './use-calls.ts'

const toRoot = '../'

function Calls() {
  const [token, setToken] = useState(readAdminToken)
  const [filters, setFilters] = useState<Filters>(noFilters)
  const { connection, calls, hasOlder, loadOlder } = useCalls(token, useSettled(filters))
  const chosen = useChosenCall()
  const info = usePageInfo(toRoot)
  const changeToken = (next: string): void => {
    storeAdminToken(next)
    setToken(next)
  }
  const isUnauthorized = connection.state === 'unauthorized'
  const [isWide, setIsWide] = useState<boolean>()
  const [hasBodies, setHasBodies] = useState(false)
  // Two bodies side by side need more room than facts.
  const wide = chosen !== undefined && (isWide ?? hasBodies)
  return (
    <div class="calls">
      <Header home={toRoot}>
        <PageLinks info={info} folder="./" current="calls" />
      </Header>
      <main id="main" class={cx(wide && 'wide')} tabIndex={-1}>
        <section class="pane call-pane" aria-labelledby="calls-title">
          <div class="pane-head">
            <h1 id="calls-title">Calls</h1>
            <Status connection={connection} />
            {token === '' || isUnauthorized ? null : (
              <Button small look="quiet" onClick={() => changeToken('')}>
                Forget token
              </Button>
            )}
          </div>
          {isUnauthorized ? (
            <TokenForm wasRejected={token !== ''} submit="Show calls" onToken={changeToken} />
          ) : (
            <>
              <FilterFields filters={filters} onChange={setFilters} />
              {connection.state === 'refused' ? <Notice kind="bad">{connection.message}</Notice> : null}
              {calls.length === 0 && connection.state === 'live' ? (
                <p class="inspect-empty">No calls yet. New calls appear here when they have ended.</p>
              ) : null}
              <CallsList calls={calls} chosen={chosen} hasOlder={hasOlder} onOlder={loadOlder} />
            </>
          )}
        </section>
        <DetailPane
          chosen={isUnauthorized ? undefined : chosen}
          token={token}
          hasPlayground={info?.playground === true}
          wide={wide}
          onWide={setIsWide}
          onCall={({ bodies }) => setHasBodies(bodies.state === 'captured')}
        />
      </main>
    </div>
  )
}

interface DetailPaneProps {
  chosen: string | undefined
  token: string
  hasPlayground: boolean
  wide: boolean
  onWide: (wide: boolean) => void
  onCall: (call: RecentCallDetails) => void
}

function DetailPane({ chosen, token, hasPlayground, wide, onWide, onCall }: DetailPaneProps) {
  const pane = useRef<HTMLElement>(null)
  useEffect(() => {
    if (chosen === undefined) return
    pane.current?.scrollIntoView({ block: 'start' })
    pane.current?.focus({ preventScroll: true })
  }, [chosen])
  return (
    <section class="pane call-detail-pane" aria-labelledby="call-title" ref={pane} tabIndex={-1}>
      <div class="pane-head">
        <h2 id="call-title">Call</h2>
        {chosen === undefined ? null : (
          <>
            <button
              type="button"
              class={`${buttonClass({ look: 'quiet', small: true })} widen`}
              aria-pressed={wide}
              onClick={() => onWide(!wide)}
            >
              {wide ? 'Narrower' : 'Wider'}
            </button>
            <Button
              small
              look="quiet"
              onClick={() => {
                location.hash = ''
              }}
            >
              Close
            </Button>
          </>
        )}
      </div>
      {chosen === undefined ? (
        <p class="inspect-empty">Choose a call to see its attempts, usage, cost, content and losses.</p>
      ) : (
        <CallDetail id={chosen} token={token} hasPlayground={hasPlayground} onCall={onCall} />
      )}
    </section>
  )
}

function Status({ connection }: { connection: Connection }) {
  const { state } = connection
  const texts = { connecting: 'Connecting …', live: 'Live', lost: 'Reconnecting …', refused: 'Stopped' } as const
  if (state === 'unauthorized') return null
  return (
    <p class={`health ${state === 'live' ? 'good' : state === 'connecting' ? '' : 'bad'}`} role="status">
      {texts[state]}
    </p>
  )
}

/** The id in the fragment `#call=…`, so that a call has an address and the browser's Back closes it. */
function useChosenCall(): string | undefined {
  const read = (): string | undefined => new URLSearchParams(location.hash.slice(1)).get('call') ?? undefined
  const [chosen, setChosen] = useState(read)
  useEffect(() => {
    const changed = (): void => setChosen(read())
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return chosen
}

const app = document.getElementById('app')
if (app !== null) render(<Calls />, app)
