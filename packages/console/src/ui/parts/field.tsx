import type { ComponentChildren } from 'preact'
import { cx } from './cx.ts'

export interface FieldProps {
  /** Id of the input; ties label, hint and error to it. */
  id: string
  label: string
  value: string
  onInput: (value: string) => void
  type?: 'text' | 'password' | 'number' | 'date' | 'datetime-local'
  hint?: ComponentChildren
  /** Error of the value, announced as soon as it is set. */
  wrong?: string
  mono?: boolean
  placeholder?: string
  /** Values to choose from; any other one may be typed. */
  options?: readonly string[]
}

/** A one-line input with label, hint and error. */
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
  options,
}: FieldProps) {
  const descriptions = [hint !== undefined && `${id}-hint`, wrong !== undefined && `${id}-wrong`]
    .filter(Boolean)
    .join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={cx('input', mono && 'mono')}
        // Preact's types want a single literal because the allowed roles depend on it; no role is set here.
        type={type as 'text'}
        value={value}
        {...(placeholder === undefined ? {} : { placeholder })}
        {...(options === undefined ? {} : { list: `${id}-options` })}
        autocomplete="off"
        spellcheck={false}
        {...(descriptions === '' ? {} : { 'aria-describedby': descriptions })}
        aria-invalid={wrong !== undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {options === undefined ? null : (
        <datalist id={`${id}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
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
