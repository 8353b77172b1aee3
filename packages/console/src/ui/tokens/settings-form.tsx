import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../admin/api.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Notice } from '../parts/notice.tsx'
import { BudgetFields, LimitFields, type Wrong } from './limit-fields.tsx'
import { newBudget, newLimit, type TokenDraft } from './token-draft.ts'

export interface SettingsFormProps {
  title: string
  submit: string
  initial: TokenDraft
  /** Sends the settings. Rejects with an ApiError whose `param` names the invalid field. */
  onSubmit: (draft: TokenDraft) => Promise<void>
  onCancel: () => void
}

/** Params of errors that the form shows at a field. */
const shownParams = /^(?:name|owner|expiresAt|models(?:\[\d+\])?|(?:limits|budget)\[\d+\](?:\.\w+)?)$/

/** The settings of a token. The gateway checks them; its errors appear at the fields. */
export function SettingsForm({ title, submit, initial, onSubmit, onCancel }: SettingsFormProps) {
  const [draft, setDraft] = useState(initial)
  const [wrong, setWrong] = useState<Wrong>()
  const [isSending, setSending] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (wrong !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [wrong])
  const change = (more: Partial<TokenDraft>): void => setDraft((before) => ({ ...before, ...more }))
  const wrongAt = (param: string): { wrong?: string } => (wrong?.param === param ? { wrong: wrong.message } : {})
  const send = async (): Promise<void> => {
    if (isSending) return
    setSending(true)
    setWrong(undefined)
    try {
      await onSubmit(draft)
    } catch (error) {
      const { message, param } = error as ApiError
      setWrong({ message, ...(error instanceof ApiError && param !== undefined ? { param } : {}) })
    } finally {
      setSending(false)
    }
  }
  const isElsewhere = wrong !== undefined && (wrong.param === undefined || !shownParams.test(wrong.param))
  return (
    <form
      ref={form}
      class="settings-form"
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {isElsewhere ? <Notice kind="bad">{wrong.message}</Notice> : null}
      <div class="two">
        <Field
          id="token-name"
          label="Name"
          value={draft.name}
          onInput={(name) => change({ name })}
          hint="The purpose of the token."
          {...wrongAt('name')}
        />
        <Field
          id="token-owner"
          label="Owner"
          value={draft.owner}
          onInput={(owner) => change({ owner })}
          hint="A user or a team."
          {...wrongAt('owner')}
        />
      </div>
      <Field
        id="token-models"
        label="Models"
        value={draft.models}
        onInput={(models) => change({ models })}
        hint="Names, separated by commas; * matches anything. Empty: all models."
        {...(wrong?.param?.startsWith('models') ? { wrong: wrong.message } : {})}
      />
      <Field
        id="token-expires"
        label="Expires"
        type="datetime-local"
        value={draft.expires}
        onInput={(expires) => change({ expires })}
        hint="In your time zone. Empty: never."
        {...wrongAt('expiresAt')}
      />
      {draft.limits.map((limit, index) => (
        <LimitFields
          // Entries have no identity: their fields are controlled, so the index is enough.
          key={index}
          index={index}
          limit={limit}
          wrong={wrong}
          onChange={(next) => change({ limits: draft.limits.map((old, at) => (at === index ? next : old)) })}
          onRemove={() => change({ limits: draft.limits.filter((_, at) => at !== index) })}
        />
      ))}
      {draft.budgets.map((budget, index) => (
        <BudgetFields
          key={index}
          index={index}
          budget={budget}
          wrong={wrong}
          onChange={(next) => change({ budgets: draft.budgets.map((old, at) => (at === index ? next : old)) })}
          onRemove={() => change({ budgets: draft.budgets.filter((_, at) => at !== index) })}
        />
      ))}
      <div class="actions">
        <Button small onClick={() => change({ limits: [...draft.limits, newLimit] })}>
          Add limit
        </Button>
        <Button small onClick={() => change({ budgets: [...draft.budgets, newBudget] })}>
          Add budget
        </Button>
      </div>
      <div class="actions">
        <button type="submit" class="button primary" disabled={isSending}>
          {submit}
        </button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  )
}
