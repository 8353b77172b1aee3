import type { ComponentChildren } from 'preact'
import { cx } from './cx.ts'

export interface ButtonLook {
  /** `primary` once in a view, `quiet` beside content. Default: a plain button. */
  look?: 'primary' | 'quiet'
  small?: boolean
  /** Square, for an icon only: set `label` too. */
  icon?: boolean
}

export interface ButtonProps extends ButtonLook {
  onClick: () => void
  children: ComponentChildren
  /** Accessible name in place of the content. */
  label?: string
  disabled?: boolean
  done?: boolean
}

export const buttonClass = ({ look, small, icon }: ButtonLook, done = false): string =>
  cx('button', look, small && 'small', icon && 'icon', done && 'done')

export function Button({ onClick, children, label, disabled = false, done = false, ...look }: ButtonProps) {
  return (
    <button
      type="button"
      class={buttonClass(look, done)}
      aria-label={label}
      title={look.icon ? label : undefined}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  )
}
