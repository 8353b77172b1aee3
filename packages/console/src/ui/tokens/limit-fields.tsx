import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Select } from '../parts/select.tsx'
import { type BudgetDraft, inSeconds, type LimitDraft, limitCounts, periods, windows } from './token-draft.ts'

/** An error of the gateway, and the field that it is about. */
export interface Wrong {
  readonly message: string
  readonly param?: string
}

const countTitles: Readonly<Record<(typeof limitCounts)[number], string>> = {
  requests: 'Requests',
  tokens: 'Tokens',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  concurrent: 'Concurrent calls',
}

const windowOptions = [
  ...windows.map((window) => ({ value: window as string, title: `Per ${window}` })),
  { value: inSeconds, title: 'Per number of seconds' },
]

const periodOptions = periods.map((period) => ({
  value: period,
  title: period === 'total' ? 'In total' : `Per ${period}`,
}))

interface EntryProps {
  index: number
  wrong: Wrong | undefined
  onRemove: () => void
}

/** Fields of one limit. */
export function LimitFields({
  index,
  limit,
  wrong,
  onChange,
  onRemove,
}: EntryProps & { limit: LimitDraft; onChange: (limit: LimitDraft) => void }) {
  const place = `limits[${index}]`
  const wrongAt = wrongIn(wrong, place)
  return (
    <fieldset class="entry">
      <legend>Limit {index + 1}</legend>
      <div class="two">
        <Select
          id={`limit-${index}-window`}
          label="Window"
          value={limit.window}
          options={windowOptions}
          onChange={(window) => onChange({ ...limit, window })}
          {...(limit.window === inSeconds ? {} : wrongAt('window'))}
        />
        {limit.window === inSeconds ? (
          <Field
            id={`limit-${index}-seconds`}
            label="Seconds"
            value={limit.seconds}
            onInput={(seconds) => onChange({ ...limit, seconds })}
            {...wrongAt('window')}
          />
        ) : null}
        {limitCounts.map((count) => (
          <Field
            key={count}
            id={`limit-${index}-${count}`}
            label={countTitles[count]}
            value={limit[count]}
            onInput={(value) => onChange({ ...limit, [count]: value })}
            {...wrongAt(count)}
          />
        ))}
        <ModelsField
          id={`limit-${index}-models`}
          models={limit.models}
          onInput={(models) => onChange({ ...limit, models })}
          {...wrongAt('models')}
        />
      </div>
      <EntryEnd name={`limit ${index + 1}`} place={place} wrong={wrong} onRemove={onRemove} />
    </fieldset>
  )
}

/** Fields of one budget. */
export function BudgetFields({
  index,
  budget,
  wrong,
  onChange,
  onRemove,
}: EntryProps & { budget: BudgetDraft; onChange: (budget: BudgetDraft) => void }) {
  const place = `budget[${index}]`
  const wrongAt = wrongIn(wrong, place)
  return (
    <fieldset class="entry">
      <legend>Budget {index + 1}</legend>
      <div class="two">
        <Select
          id={`budget-${index}-period`}
          label="Period"
          value={budget.period}
          options={periodOptions}
          onChange={(period) => onChange({ ...budget, period })}
          {...wrongAt('period')}
        />
        <Select
          id={`budget-${index}-unit`}
          label="Of"
          value={budget.unit}
          options={[
            { value: 'money', title: 'Money' },
            { value: 'tokens', title: 'Tokens' },
          ]}
          onChange={(unit) => onChange({ ...budget, unit: unit === 'money' ? 'money' : 'tokens' })}
        />
        <Field
          id={`budget-${index}-amount`}
          label="Amount"
          value={budget.amount}
          onInput={(amount) => onChange({ ...budget, amount })}
          hint={budget.unit === 'money' ? 'In the currency of the prices.' : 'Input and output together.'}
          {...wrongAt(budget.unit)}
        />
        <ModelsField
          id={`budget-${index}-models`}
          models={budget.models}
          onInput={(models) => onChange({ ...budget, models })}
          {...wrongAt('models')}
        />
      </div>
      <EntryEnd name={`budget ${index + 1}`} place={place} wrong={wrong} onRemove={onRemove} />
    </fieldset>
  )
}

const wrongIn =
  (wrong: Wrong | undefined, place: string) =>
  (field: string): { wrong?: string } =>
    wrong?.param === `${place}.${field}` ? { wrong: wrong.message } : {}

interface ModelsFieldProps {
  id: string
  models: string
  onInput: (models: string) => void
  wrong?: string
}

const ModelsField = ({ id, models, onInput, wrong }: ModelsFieldProps) => (
  <Field
    id={id}
    label="Models"
    value={models}
    onInput={onInput}
    hint="Empty: all models, in one count."
    {...(wrong === undefined ? {} : { wrong })}
  />
)

/** The error of the whole entry, and the button that removes it. */
function EntryEnd({
  name,
  place,
  wrong,
  onRemove,
}: {
  name: string
  place: string
  wrong: Wrong | undefined
  onRemove: () => void
}) {
  return (
    <>
      <span class="wrong" role="alert">
        {wrong?.param === place ? wrong.message : null}
      </span>
      <Button small look="quiet" label={`Remove ${name}`} onClick={onRemove}>
        Remove
      </Button>
    </>
  )
}
