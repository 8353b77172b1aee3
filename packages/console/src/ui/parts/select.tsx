export interface SelectProps {
  id: string
  label: string
  value: string
  options: readonly { readonly value: string; readonly title: string }[]
  onChange: (value: string) => void
  disabled?: boolean
  /** Error of the value, announced as soon as it is set. */
  wrong?: string
}

/** A labelled select. */
export function Select({ id, label, value, options, onChange, disabled = false, wrong }: SelectProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        value={value}
        disabled={disabled}
        {...(wrong === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': `${id}-wrong` })}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.title}
          </option>
        ))}
      </select>
      {wrong === undefined ? null : (
        <span class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </span>
      )}
    </div>
  )
}
