import { useState } from 'preact/hooks'
import { Field } from '../parts/field.tsx'

export interface TokenFormProps {
  wasRejected: boolean
  /** Text of the button, such as `Show calls`. */
  submit: string
  onToken: (token: string) => void
}

/** Asks for the administrator's token. */
export function TokenForm({ wasRejected, submit, onToken }: TokenFormProps) {
  const [text, setText] = useState('')
  return (
    <form
      class="card admin-token"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') onToken(text.trim())
      }}
    >
      <Field
        id="admin-token"
        label="Admin token"
        type="password"
        mono
        value={text}
        onInput={setText}
        hint="The value of MODELGATE_ADMIN_TOKEN. Stored in this tab only, and sent only to this gateway."
        {...(wasRejected ? { wrong: 'The gateway rejected this token.' } : {})}
      />
      <button type="submit" class="button primary">
        {submit}
      </button>
    </form>
  )
}
