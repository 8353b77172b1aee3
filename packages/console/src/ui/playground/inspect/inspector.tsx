import { useState } from 'preact/hooks'
import type { CallFacts } from '../../../calls.ts'
import { TabPanel, Tabs } from '../../parts/tabs.tsx'
import type { Exchange } from '../formats/format.ts'
import type { AsCode, Snippet } from './as-code.ts'
import { CallView } from './call-view.tsx'
import { PlanView } from './plan-view.tsx'
import { RequestView } from './request-view.tsx'
import { useExplanation } from './use-explanation.ts'

export interface InspectorProps {
  /** Undefined before the first call. */
  exchange: Exchange | undefined
  /** The gateway's facts about the call. Undefined: it had no attempt, or the facts have not arrived. */
  facts?: CallFacts | undefined
  /** The gateway's address, without a trailing slash. */
  base: string
  /** Used only to request explanations; never shown. Empty: no token is sent. */
  token: string
  /** True if the gateway explains calls. */
  canExplain: boolean
  /** Writes the request as code. Default: as chat requests. */
  snippets?: (call: AsCode) => readonly Snippet[]
}

type View = 'call' | 'request' | 'plan'

/** Shows the course of a call, the call as code, and its plan. */
export function Inspector({ exchange, facts, base, token, canExplain, snippets }: InspectorProps) {
  const [chosen, setChosen] = useState<View>('call')
  const explaining = useExplanation(exchange, { base, token, isEnabled: canExplain })
  if (exchange === undefined)
    return (
      <p class="inspect-empty">
        Send a request to see what happens: the attempts, {canExplain ? 'the upstream request and its losses, ' : ''}
        each event of the response, and the request as code.
      </p>
    )
  const view = chosen === 'plan' && !canExplain ? 'call' : chosen
  const tabs = [
    { id: 'call', title: 'What happened' },
    { id: 'request', title: 'Request' },
    ...(canExplain ? [{ id: 'plan', title: 'Plan' }] : []),
  ]
  return (
    <div class="inspect">
      <Tabs name="inspect" label="Views" tabs={tabs} chosen={view} onChoose={(id) => setChosen(id as View)} />
      <TabPanel name="inspect" chosen={view}>
        {view === 'call' ? (
          <CallView exchange={exchange} facts={facts} explaining={canExplain ? explaining : undefined} />
        ) : null}
        {view === 'request' ? (
          <RequestView exchange={exchange} base={base} withToken={token !== ''} snippets={snippets} />
        ) : null}
        {view === 'plan' ? <PlanView exchange={exchange} {...explaining} /> : null}
      </TabPanel>
    </div>
  )
}
