import type { ComponentChildren } from 'preact'
import { cx } from './cx.ts'

export interface NoticeProps {
  /** `bad` interrupts a screen reader; the others wait their turn. Default: a plain notice without an announcement. */
  kind?: 'good' | 'warn' | 'bad'
  title?: string
  children?: ComponentChildren
}

export function Notice({ kind, title, children }: NoticeProps) {
  const role = kind === 'bad' ? 'alert' : kind === undefined ? undefined : 'status'
  return (
    <div class={cx('notice', kind)} role={role}>
      {title === undefined ? null : <strong>{title}</strong>}
      {children}
    </div>
  )
}
