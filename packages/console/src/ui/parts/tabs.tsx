import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export interface TabsProps {
  /** Prefix of the elements' ids, unique for each set of tabs on a page. */
  name: string
  label: string
  tabs: readonly { readonly id: string; readonly title: string }[]
  chosen: string
  onChoose: (id: string) => void
}

/** A list of tabs (WAI-ARIA): arrows, Home and End move and select, Tab moves on to the panel. */
export function Tabs({ name, label, tabs, chosen, onChoose }: TabsProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = list.current?.querySelector<HTMLElement>(`#${tabId(name, chosen)}`)
    if (list.current !== null && element != null) scrollTo(list.current, element)
  }, [name, chosen])
  const chooseAt = (index: number): void => {
    const tab = tabs[(index + tabs.length) % tabs.length]
    if (tab === undefined) return
    onChoose(tab.id)
    const element = list.current?.querySelector<HTMLElement>(`#${tabId(name, tab.id)}`)
    element?.focus({ preventScroll: true })
  }
  const moved = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(({ id }) => id === chosen)
    const target = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key]
    if (target === undefined) return
    event.preventDefault()
    chooseAt(target)
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={moved}>
      {tabs.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          role="tab"
          class="tab"
          id={tabId(name, id)}
          aria-selected={id === chosen}
          aria-controls={panelId(name)}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}

/** Scrolls a list sideways until a tab is visible. The page does not scroll. */
function scrollTo(list: HTMLElement, tab: HTMLElement): void {
  const before = tab.getBoundingClientRect().left - list.getBoundingClientRect().left
  const after = before + tab.offsetWidth - list.clientWidth
  if (before < 0) list.scrollLeft += before
  else if (after > 0) list.scrollLeft += after
}

/** The panel of the selected tab, focusable so that the keyboard gets from the tab to it (WAI-ARIA). */
export function TabPanel({ name, chosen, children }: { name: string; chosen: string; children: ComponentChildren }) {
  return (
    <div role="tabpanel" id={panelId(name)} aria-labelledby={tabId(name, chosen)}>
      {children}
    </div>
  )
}

export const tabId = (name: string, id: string): string => `${name}-tab-${id}`
export const panelId = (name: string): string => `${name}-panel`
