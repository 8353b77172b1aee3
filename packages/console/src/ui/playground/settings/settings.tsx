import type { ModelDescription } from '@modelgate/core'
import { Field } from '../../parts/field.tsx'
import { Select } from '../../parts/select.tsx'
import { modelsFor } from '../call/models.ts'
import { formatNamed, formats } from '../formats/index.ts'
import type { Draft, Wrongs } from './draft.ts'
import { ModelField } from './model-field.tsx'
import { MoreSettings } from './more-settings.tsx'
import { PresetsField } from './presets-field.tsx'
import { type FrameProps, SettingsFrame } from './settings-frame.tsx'

export interface SettingsPaneProps {
  frame: FrameProps
  draft: Draft
  wrongs: Wrongs
  onDraft: (more: Partial<Draft>) => void
  /** The model to compare with; undefined: none. */
  second: string | undefined
  onSecond: (model: string | undefined) => void
}

const formatOptions = formats.map(({ id, name }) => ({ value: id, title: name }))

export function SettingsPane({ frame, draft, wrongs, onDraft, second, onSecond }: SettingsPaneProps) {
  const { checked } = frame
  const models = checked.state === 'good' ? modelsFor(checked.models, 'generate') : []
  return (
    <SettingsFrame
      {...frame}
      summary={`${draft.model || 'No model yet'}${second === undefined ? '' : ` and ${second || 'no second model yet'}`} · ${draft.format.name}`}
    >
      <ModelField
        models={models}
        model={draft.model}
        {...(checked.state === 'good' ? { left: { count: checked.models.length - models.length, what: 'chat' } } : {})}
        onChange={(model) => onDraft({ model })}
      />
      <SecondModel models={models} first={draft.model} second={second} onSecond={onSecond} />
      <Select
        id="format"
        label="Client format"
        value={draft.format.id}
        options={formatOptions}
        onChange={(id) => onDraft({ format: formatNamed(id) })}
      />
      <div class="field">
        <label for="system">System prompt</label>
        <textarea
          id="system"
          class="input"
          rows={3}
          value={draft.system}
          placeholder="None"
          onInput={(event) => onDraft({ system: event.currentTarget.value })}
        />
      </div>
      <Numbers draft={draft} wrongs={wrongs} onDraft={onDraft} />
      <label class="tick">
        <input
          type="checkbox"
          checked={draft.stream}
          onChange={(event) => onDraft({ stream: event.currentTarget.checked })}
        />
        Stream the response
      </label>
      <MoreSettings draft={draft} wrongs={wrongs} onDraft={onDraft} />
      <PresetsField draft={draft} onDraft={onDraft} />
      <ToolsField draft={draft} wrongs={wrongs} onDraft={onDraft} />
    </SettingsFrame>
  )
}

interface SecondModelProps extends Pick<SettingsPaneProps, 'second' | 'onSecond'> {
  models: readonly ModelDescription[]
  first: string
}

/** Switches the comparison on and off, and selects its second model. All other settings apply to both models. */
function SecondModel({ models, first, second, onSecond }: SecondModelProps) {
  return (
    <>
      <label class="tick">
        <input
          type="checkbox"
          checked={second !== undefined}
          onChange={(event) =>
            onSecond(event.currentTarget.checked ? (models.find(({ id }) => id !== first)?.id ?? '') : undefined)
          }
        />
        Compare with a second model
      </label>
      {second === undefined ? null : (
        <ModelField id="second-model" label="Second model" models={models} model={second} onChange={onSecond} />
      )}
    </>
  )
}

type PartProps = Pick<SettingsPaneProps, 'draft' | 'wrongs' | 'onDraft'>

function Numbers({ draft, wrongs, onDraft }: PartProps) {
  const { maxTokensUnlessSet } = draft.format
  return (
    <div class="two">
      <Field
        id="temperature"
        label="Temperature"
        value={draft.temperature}
        placeholder="Not set"
        {...(wrongs.temperature === undefined ? {} : { wrong: wrongs.temperature })}
        onInput={(temperature) => onDraft({ temperature })}
      />
      <Field
        id="max-tokens"
        label="Max tokens"
        value={draft.maxTokens}
        placeholder="Not set"
        {...(maxTokensUnlessSet === undefined ? {} : { hint: `Default: ${maxTokensUnlessSet}` })}
        {...(wrongs.maxTokens === undefined ? {} : { wrong: wrongs.maxTokens })}
        onInput={(maxTokens) => onDraft({ maxTokens })}
      />
    </div>
  )
}

function ToolsField({ draft, wrongs, onDraft }: PartProps) {
  return (
    <>
      <label class="tick">
        <input
          type="checkbox"
          checked={draft.offersTools}
          onChange={(event) => onDraft({ offersTools: event.currentTarget.checked })}
        />
        Offer tools
      </label>
      {draft.offersTools ? (
        <div class="field">
          <label for="tools">Tools, as JSON</label>
          <textarea
            id="tools"
            class="input mono"
            rows={12}
            spellcheck={false}
            value={draft.tools}
            aria-invalid={wrongs.tools !== undefined}
            aria-describedby="tools-hint tools-wrong"
            onInput={(event) => onDraft({ tools: event.currentTarget.value })}
          />
          <span class="hint" id="tools-hint">
            Tool calls are shown but not executed.
          </span>
          <span class="wrong" id="tools-wrong" aria-live="polite">
            {wrongs.tools}
          </span>
        </div>
      ) : null}
    </>
  )
}
