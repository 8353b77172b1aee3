import { useState } from 'preact/hooks'
import { TabPanel, Tabs } from '../../parts/tabs.tsx'
import type { Exchange } from '../formats/format.ts'
import { RequestView } from './request-view.tsx'
import { StreamView } from './stream-view.tsx'
import { UpstreamView } from './upstream-view.tsx'

export interface InspectorProps {
  /** undefined: nothing was sent yet. */
  exchange: Exchange | undefined
  /** The gateway's address, without a slash at the end. */
  base: string
  /** Only for asking what the call becomes; never shown. Empty: none is sent. */
  token: string
  /** Whether the gateway explains calls. */
  canExplain: boolean
}

type View = 'request' | 'upstream' | 'stream'

/** A call from all sides: as code, as what it becomes upstream, as what came back. */
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
