import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Panes } from '../panes.tsx'
import type { OperationTabProps } from './operation.ts'
import type { OperationId } from './tabs.ts'

type Tabs = typeof import('./all-tabs.ts').operationTabs

/** The code of the tabs: opening another one shows it at once. */
let loaded: Tabs | undefined

/** The tab of an operation. The code of all of them is loaded when one is first shown. */
export function OperationTab({ id, ...props }: OperationTabProps & { id: OperationId }) {
  const [tabs, setTabs] = useState<Tabs | 'failed' | undefined>(loaded)
  useEffect(() => {
    if (loaded !== undefined) return
    import('./all-tabs.ts').then(
      ({ operationTabs }) => {
        loaded = operationTabs
        setTabs(operationTabs)
      },
      () => setTabs('failed'),
    )
  }, [])
  const Loaded = typeof tabs === 'object' ? tabs[id] : undefined
  if (Loaded !== undefined) return <Loaded {...props} />
  return (
    <Panes tab={id} wide={props.wide}>
      <section class="pane tab-loading" aria-busy={tabs === undefined}>
        {tabs === 'failed' ? (
          <Notice kind="bad" title="This tab could not be loaded">
            <p>The gateway is unreachable, or it has a newer version.</p>
            {/* Browsers do not load code again that once failed. */}
            <Button small onClick={() => location.reload()}>
              Reload the page
            </Button>
          </Notice>
        ) : (
          <p class="inspect-empty">Loading…</p>
        )}
      </section>
    </Panes>
  )
}
