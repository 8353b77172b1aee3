import { Field } from '../../parts/field.tsx'
import { Select } from '../../parts/select.tsx'
import { Area } from './area.tsx'
import type { Draft, Wrongs } from './draft.ts'
import { More } from './more.tsx'

export interface MoreSettingsProps {
  draft: Draft
  wrongs: Wrongs
  onDraft: (more: Partial<Draft>) => void
}

const efforts = ['', 'minimal', 'low', 'medium', 'high'].map((value) => ({ value, title: value || 'Not set' }))

/** Settings that few requests need. An invalid one opens the group, and so do extra fields: a link may have filled them in. */
export function MoreSettings({ draft, wrongs, onDraft }: MoreSettingsProps) {
  const { topP, seed, schema, extra } = wrongs
  const isWrong = [topP, seed, schema, extra].some((wrong) => wrong !== undefined)
  const lacking = (name: 'stop' | 'seed') =>
    draft.format.lacks.includes(name) ? { hint: `${draft.format.name} has no such field: not sent.` } : {}
  return (
    <More mustBeSeen={isWrong || draft.extra !== ''}>
      <Select
        id="effort"
        label="Reasoning effort"
        value={draft.effort}
        options={efforts}
        onChange={(effort) => onDraft({ effort })}
      />
      <div class="two">
        <Field
          id="top-p"
          label="Top P"
          value={draft.topP}
          placeholder="Not set"
          {...(topP === undefined ? {} : { wrong: topP })}
          onInput={(topP) => onDraft({ topP })}
        />
        <Field
          id="seed"
          label="Seed"
          value={draft.seed}
          placeholder="Not set"
          {...lacking('seed')}
          {...(seed === undefined ? {} : { wrong: seed })}
          onInput={(seed) => onDraft({ seed })}
        />
      </div>
      <Area
        id="stop"
        label="Stop sequences"
        value={draft.stop}
        hint={lacking('stop').hint ?? 'One per line.'}
        onInput={(stop) => onDraft({ stop })}
      />
      <Area
        id="schema"
        label="JSON schema of the response"
        value={draft.schema}
        wrong={schema}
        onInput={(schema) => onDraft({ schema })}
      />
      <Area
        id="extra"
        label="Extra JSON"
        value={draft.extra}
        hint="Merged into the request."
        wrong={extra}
        onInput={(extra) => onDraft({ extra })}
      />
    </More>
  )
}
