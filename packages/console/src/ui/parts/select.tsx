export interface SelectProps {
  id: string
  label: string
  value: string
  options: readonly { readonly value: string; readonly title: string }[]
  onChange: (value: string) => void
  disabled?: boolean
}

/** A labelled select. */
export function Select({ id, label, value, options, onChange, disabled = false }: SelectProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.title}
          </option>
        ))}
      </select>
    </div>
  )
}
