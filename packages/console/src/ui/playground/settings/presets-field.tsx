import { useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { Select } from '../../parts/select.tsx'
import type { Draft } from './draft.ts'
import { type Presets, readPresets, storePresets } from './presets.ts'

/** Saves, loads and deletes named settings. */
export function PresetsField({ draft, onDraft }: { draft: Draft; onDraft: (draft: Partial<Draft>) => void }) {
  const [presets, setPresets] = useState(readPresets)
  const [chosen, setChosen] = useState('')
  const [name, setName] = useState('')
  const [wrong, setWrong] = useState<string>()
  const store = (next: Presets, then: string): void => {
    if (!storePresets(next)) {
      setWrong('The browser has no room, or blocks storage.')
      return
    }
    setWrong(undefined)
    setPresets(next)
    setChosen(then)
    setName('')
  }
  const options = [
    { value: '', title: presets.size === 0 ? 'None saved' : 'Choose …' },
    ...[...presets.keys()].map((value) => ({ value, title: value })),
  ]
  return (
    <details class="more-settings presets">
      <summary>Presets</summary>
      <div class="fields">
        <Select
          id="preset"
          label="Preset"
          value={chosen}
          options={options}
          disabled={presets.size === 0}
          onChange={(value) => {
            setChosen(value)
            const preset = presets.get(value)
            if (preset !== undefined) onDraft(preset)
          }}
        />
        {chosen === '' ? null : (
          <Button small onClick={() => store(new Map([...presets].filter(([one]) => one !== chosen)), '')}>
            Delete “{chosen}”
          </Button>
        )}
        <form
          class="save-preset"
          onSubmit={(event) => {
            event.preventDefault()
            const trimmed = name.trim()
            if (trimmed === '') setWrong('Enter a name.')
            else store(new Map([...presets, [trimmed, draft]]), trimmed)
          }}
        >
          <Field
            id="preset-name"
            label="Save these settings as"
            value={name}
            placeholder="Name"
            hint="Stored on this device, without the token."
            {...(wrong === undefined ? {} : { wrong })}
            onInput={setName}
          />
          <button type="submit" class="button small">
            Save
          </button>
        </form>
      </div>
    </details>
  )
}
