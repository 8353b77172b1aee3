import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export interface MoreProps {
  /** True: a value inside has to be seen. The group opens, and stays open when that changes: the user may be typing in it. */
  mustBeSeen: boolean
  children: ComponentChildren
}

/** A group of settings that few requests need. */
export function More({ mustBeSeen, children }: MoreProps) {
  const [open, setOpen] = useState(mustBeSeen)
  useEffect(() => {
    if (mustBeSeen) setOpen(true)
  }, [mustBeSeen])
  return (
    <details class="more-settings" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>More settings</summary>
      <div class="fields">{children}</div>
    </details>
  )
}
