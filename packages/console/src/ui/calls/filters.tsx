import { Field } from '../parts/field.tsx'
import { Select } from '../parts/select.tsx'
import type { Filters } from './api.ts'

export const noFilters: Filters = { token: '', model: '', upstream: '', status: '' }

const statuses = [
  { value: '', title: 'All' },
  { value: 'failed', title: 'Failed' },
  { value: '2xx', title: '2xx' },
  { value: '4xx', title: '4xx' },
  { value: '429', title: '429' },
  { value: '5xx', title: '5xx' },
]

export function FilterFields({ filters, onChange }: { filters: Filters; onChange: (filters: Filters) => void }) {
  const text = (name: 'token' | 'model' | 'upstream', label: string) => (
    <Field
      id={`filter-${name}`}
      label={label}
      value={filters[name]}
      onInput={(value) => onChange({ ...filters, [name]: value })}
    />
  )
  return (
    <search class="call-filters" aria-label="Filters">
      {text('token', 'Caller')}
      {text('model', 'Model')}
      {text('upstream', 'Upstream')}
      <Select
        id="filter-status"
        label="Status"
        value={filters.status}
        options={statuses}
        onChange={(status) => onChange({ ...filters, status })}
      />
    </search>
  )
}
