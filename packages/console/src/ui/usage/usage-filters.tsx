import { type Preset, presets, rangeOf } from '../admin/days.ts'
import { buttonClass } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Select } from '../parts/select.tsx'
import type { SeenOptions } from './seen-options.ts'
import type { UsageQuery } from './usage-report.ts'

export interface UsageFiltersProps {
  query: UsageQuery
  options: SeenOptions
  onQuery: (query: UsageQuery) => void
}

/** Chooses days, a token and a model. */
export function UsageFilters({ query, options, onQuery }: UsageFiltersProps) {
  const isChosen = (preset: Preset): boolean => {
    const { from, to } = rangeOf(preset)
    return from === query.from && to === query.to
  }
  // An emptied date field keeps the last day.
  const setDay = (field: 'from' | 'to') => (day: string) => {
    if (day !== '') onQuery({ ...query, [field]: day })
  }
  const { token, model } = query
  return (
    <search class="usage-filters" aria-label="Filters">
      <fieldset class="presets">
        <legend class="out-of-sight">Days</legend>
        {presets.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            class={buttonClass({ small: true })}
            aria-pressed={isChosen(id)}
            onClick={() => onQuery({ ...query, ...rangeOf(id) })}
          >
            {title}
          </button>
        ))}
      </fieldset>
      <Field id="from" label="From" type="date" value={query.from} onInput={setDay('from')} />
      <Field id="to" label="To" type="date" value={query.to} onInput={setDay('to')} />
      <Select
        id="filter-token"
        label="Token"
        value={token}
        options={[
          { value: '', title: 'All tokens' },
          // A linked token may have no usage.
          ...[...new Map([...(token === '' ? [] : [[token, token] as const]), ...options.tokens])]
            .map(([value, title]) => ({ value, title }))
            .sort((one, other) => one.title.localeCompare(other.title)),
        ]}
        onChange={(value) => onQuery({ ...query, token: value })}
      />
      <Select
        id="filter-model"
        label="Model"
        value={model}
        options={[
          { value: '', title: 'All models' },
          ...[...new Set([...(model === '' ? [] : [model]), ...options.models])]
            .sort()
            .map((value) => ({ value, title: value })),
        ]}
        onChange={(value) => onQuery({ ...query, model: value })}
      />
    </search>
  )
}
