import { cx } from '../../parts/cx.ts'

export interface AreaProps {
  id: string
  label: string
  value: string
  hint?: string
  wrong?: string | undefined
  /** Default: 2. */
  rows?: number
  /** Prose instead of code. */
  prose?: boolean
  placeholder?: string
  onInput: (value: string) => void
}

/** A labelled input of several lines, with hint and error. */
export function Area({
  id,
  label,
  value,
  hint,
  wrong,
  rows = 2,
  prose = false,
  placeholder = 'None',
  onInput,
}: AreaProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class={cx('input', !prose && 'mono')}
        rows={rows}
        spellcheck={prose}
        value={value}
        placeholder={placeholder}
        aria-invalid={wrong !== undefined}
        aria-describedby={`${id}-hint ${id}-wrong`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <span class="hint" id={`${id}-hint`}>
        {hint}
      </span>
      <span class="wrong" id={`${id}-wrong`} aria-live="polite">
        {wrong}
      </span>
    </div>
  )
}
