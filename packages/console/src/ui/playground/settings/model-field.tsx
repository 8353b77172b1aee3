import { useState } from 'preact/hooks'
import { Field } from '../../parts/field.tsx'
import { Select } from '../../parts/select.tsx'

export interface ModelFieldProps {
  models: readonly string[]
  model: string
  onChange: (model: string) => void
}

/** Cannot collide: model names have no spaces at their ends. */
const other = ' other '

/** Selects a listed model or any other name: patterns (`gpt-*`) are not listed. */
export function ModelField({ models, model, onChange }: ModelFieldProps) {
  const [typing, setTyping] = useState(false)
  const free = typing || !models.includes(model)
  const options = [...models.map((name) => ({ value: name, title: name })), { value: other, title: 'Another name …' }]
  const typed = (
    <Field
      id="model-name"
      label={models.length === 0 ? 'Model' : 'Name of the model'}
      mono
      value={model}
      placeholder="As the gateway calls it"
      hint={models.length === 0 ? 'Check the token to choose from a list.' : 'Names by a pattern are not listed.'}
      onInput={onChange}
    />
  )
  if (models.length === 0) return typed
  return (
    <>
      <Select
        id="model"
        label="Model"
        value={free ? other : model}
        options={options}
        onChange={(value) => {
          setTyping(value === other)
          onChange(value === other ? '' : value)
        }}
      />
      {free ? typed : null}
    </>
  )
}
