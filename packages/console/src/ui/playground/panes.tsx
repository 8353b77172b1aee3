import type { ComponentChildren } from 'preact'
import { buttonClass } from '../parts/button.tsx'
import { cx } from '../parts/cx.ts'
import { panelId, tabId } from '../parts/tabs.tsx'
import type { TabId } from './operations/tabs.ts'
import type { FrameProps } from './settings/settings-frame.tsx'

/** Name of the tabs that select what the page shows. */
export const tabsName = 'mode'

/** Properties that the page passes to each tab. */
export interface TabProps {
  /** The gateway's address, without a trailing slash. */
  gateway: string
  /** True if the gateway explains calls. */
  canExplain: boolean
  frame: FrameProps
  wide: boolean
  onWide: (wide: boolean) => void
  /** The panes are one below the other. */
  narrow: boolean
}

export interface PanesProps {
  tab: TabId
  /** False: the panes exist, but another tab is shown. Default: true. */
  isShown?: boolean
  /** The inspector has more room. */
  wide: boolean
  /** Two models are compared. */
  comparing?: boolean
  children: ComponentChildren
}

/** The panes of a tab. */
export function Panes({ tab, isShown = true, wide, comparing = false, children }: PanesProps) {
  const shown = { role: 'tabpanel', id: panelId(tabsName), 'aria-labelledby': tabId(tabsName, tab) } as const
  return (
    <div class={cx('panes', wide && 'wide', comparing && 'comparing')} {...(isShown ? shown : { hidden: true })}>
      {children}
    </div>
  )
}

export interface InspectorPaneProps {
  wide: boolean
  onWide: (wide: boolean) => void
  children: ComponentChildren
}

const inspectorId = 'inspector'

/** The frame of the inspector. */
export function InspectorPane({ wide, onWide, children }: InspectorPaneProps) {
  return (
    <section class="pane request" aria-labelledby="request" id={inspectorId} tabIndex={-1}>
      <div class="pane-head">
        <h2 id="request">Inspector</h2>
        <button
          type="button"
          class={`${buttonClass({ look: 'quiet', small: true })} widen`}
          aria-pressed={wide}
          onClick={() => onWide(!wide)}
        >
          {wide ? 'Narrower' : 'Wider'}
        </button>
      </div>
      {children}
    </section>
  )
}

/** Moves to the inspector, and into view on screens where it is elsewhere on the page. */
export function focusInspector(): void {
  const pane = document.getElementById(inspectorId)
  pane?.scrollIntoView({ block: 'nearest' })
  pane?.focus({ preventScroll: true })
}

/** Moves to the settings, on screens where they are elsewhere on the page. */
export function focusSettings(): void {
  const pane = document.getElementById('settings')
  pane?.scrollIntoView({ block: 'start' })
  pane?.focus({ preventScroll: true })
}
