import { useState } from 'preact/hooks'
import { TabPanel, Tabs } from '../../parts/tabs.tsx'
import type { Exchange } from '../formats/format.ts'
import { RequestView } from './request-view.tsx'
import { StreamView } from './stream-view.tsx'
import { UpstreamView } from './upstream-view.tsx'

export interface InspectorProps {
  /** Undefined before the first call. */
  exchange: Exchange | undefined
  /** The gateway's address, without a trailing slash. */
  base: string
  /** Used only to request explanations; never shown. Empty: no token is sent. */
  token: string
  /** True if the gateway explains calls. */
  canExplain: boolean
}

type View = 'request' | 'upstream' | 'stream'

/** Shows a call as code, as its upstream request, and as its response. */
export function Inspector({ exchange, base, token, canExplain }: InspectorProps) {
  const [chosen, setChosen] = useState<View>('request')
  if (exchange === undefined)
    return (
      <p class="inspect-empty">
        Send a message. Here you see the request as curl and as code
        {canExplain ? ', what it becomes upstream and what would be lost on the way' : ''}, and each event of the
        answer.
      </p>
    )
  const view = chosen === 'upstream' && !canExplain ? 'request' : chosen
  const tabs = [
    { id: 'request', title: 'Request' },
    ...(canExplain ? [{ id: 'upstream', title: 'Upstream' }] : []),
    { id: 'stream', title: 'Stream' },
  ]
  return (
    <div class="inspect">
      <Tabs name="inspect" label="Views" tabs={tabs} chosen={view} onChoose={(id) => setChosen(id as View)} />
      <TabPanel name="inspect" chosen={view}>
        {view === 'request' ? <RequestView exchange={exchange} base={base} withToken={token !== ''} /> : null}
        {view === 'upstream' ? <UpstreamView exchange={exchange} base={base} token={token} /> : null}
        {view === 'stream' ? <StreamView exchange={exchange} /> : null}
      </TabPanel>
    </div>
  )
}
