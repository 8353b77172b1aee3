import type { ComponentChildren } from 'preact'

/** Settings that few requests need. */
export function More({ open = false, children }: { open?: boolean; children: ComponentChildren }) {
  return (
    <details class="more-settings" {...(open ? { open } : {})}>
      <summary>More settings</summary>
      <div class="fields">{children}</div>
    </details>
  )
}
