import { cx } from '../../parts/cx.ts'
import { Field } from '../../parts/field.tsx'
import { Select } from '../../parts/select.tsx'
import { formatNamed, formats } from '../formats/index.ts'
import type { Draft, Wrongs } from './draft.ts'
import { ModelField } from './model-field.tsx'
import { TokenField, type TokenFieldProps } from './token-field.tsx'

export interface SettingsPaneProps extends Pick<TokenFieldProps, 'kept' | 'checked' | 'onCheck'> {
  draft: Draft
  wrongs: Wrongs
  onToken: TokenFieldProps['onChange']
  /** Only narrow screens fold the settings. */
  open: boolean
  onOpen: (open: boolean) => void
  onDraft: (more: Partial<Draft>) => void
}

const formatOptions = formats.map(({ id, name }) => ({ value: id, title: name }))

export function SettingsPane({
  kept,
  checked,
  onCheck,
  onToken,
  draft,
  wrongs,
  onDraft,
  open,
  onOpen,
}: SettingsPaneProps) {
  return (
    <section class={cx('pane settings', open && 'open')} aria-labelledby="settings">
      <div class="pane-head">
        <h2 id="settings">Settings</h2>
        <button
          type="button"
          class="button small quiet fold"
          aria-expanded={open}
          aria-controls="settings-fields"
          onClick={() => onOpen(!open)}
        >
          {open ? 'Hide' : 'Show'}
          <span class="out-of-sight"> settings</span>
        </button>
      </div>
      <p class="summary">
        {draft.model || 'No model yet'} · {draft.format.name}
      </p>
      <div class="fields" id="settings-fields">
        <TokenField kept={kept} checked={checked} onChange={onToken} onCheck={onCheck} />
        <ModelField
          models={checked.state === 'good' ? checked.models : []}
          model={draft.model}
          onChange={(model) => onDraft({ model })}
        />
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
          Stream the answer
        </label>
        <ToolsField draft={draft} wrongs={wrongs} onDraft={onDraft} />
      </div>
    </section>
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
        {...(maxTokensUnlessSet === undefined ? {} : { hint: `${maxTokensUnlessSet} unless set` })}
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
            Calls are shown but not executed.
          </span>
          <span class="wrong" id="tools-wrong" aria-live="polite">
            {wrongs.tools}
          </span>
        </div>
      ) : null}
    </>
  )
}
