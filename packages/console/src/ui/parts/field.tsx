import type { ComponentChildren } from 'preact'
import { cx } from './cx.ts'

export interface FieldProps {
  /** The input's id, which ties label, hint and error to it. */
  id: string
  label: string
  value: string
  onInput: (value: string) => void
  type?: 'text' | 'password' | 'number'
  hint?: ComponentChildren
  /** Why the value cannot stay; said as soon as it is set. */
  wrong?: string
  mono?: boolean
  placeholder?: string
}

/** One line to write in, with its label, a hint below and what is wrong with it. */
export function Field({
  id,
  label,
  value,
  onInput,
  type = 'text',
  hint,
  wrong,
  mono = false,
  placeholder,
}: FieldProps) {
  const told = [hint !== undefined && `${id}-hint`, wrong !== undefined && `${id}-wrong`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={cx('input', mono && 'mono')}
        // Preact's types want one literal here, because the roles allowed depend on it; no role is given.
        type={type as 'text'}
        value={value}
        {...(placeholder === undefined ? {} : { placeholder })}
        autocomplete="off"
        spellcheck={false}
        {...(told === '' ? {} : { 'aria-describedby': told })}
        aria-invalid={wrong !== undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hint === undefined ? null : (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      <span class="wrong" id={`${id}-wrong`} aria-live="polite">
        {wrong}
      </span>
    </div>
  )
}
