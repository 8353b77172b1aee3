import { useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import type { Checked } from '../call/models.ts'
import { EyeIcon, HiddenIcon } from '../icons.tsx'
import type { StoredToken } from './token.ts'

export interface TokenFieldProps {
  kept: StoredToken
  checked: Checked
  onChange: (kept: StoredToken) => void
  onCheck: () => void
}

export function TokenField({ kept, checked, onChange, onCheck }: TokenFieldProps) {
  const [shown, setShown] = useState(false)
  return (
    <form
      class="field token"
      onSubmit={(event) => {
        event.preventDefault()
        onCheck()
      }}
    >
      <label for="token">Token</label>
      <div class="beside">
        <input
          id="token"
          class="input mono"
          type={shown ? 'text' : ('password' as 'text')}
          value={kept.token}
          placeholder="Paste your token"
          autocomplete="off"
          spellcheck={false}
          aria-describedby="token-status"
          aria-invalid={checked.state === 'bad'}
          onInput={(event) => onChange({ ...kept, token: event.currentTarget.value.trim() })}
        />
        <Button look="quiet" icon label={shown ? 'Hide the token' : 'Show the token'} onClick={() => setShown(!shown)}>
          {shown ? <HiddenIcon /> : <EyeIcon />}
        </Button>
        <button type="submit" class="button" disabled={checked.state === 'checking'}>
          Check
        </button>
      </div>
      <TokenStatus checked={checked} />
      <label class="tick">
        <input
          type="checkbox"
          checked={kept.remembered}
          onChange={(event) => onChange({ ...kept, remembered: event.currentTarget.checked })}
        />
        Remember on this device
      </label>
    </form>
  )
}

/** In place of the token at a gateway without authentication. */
export function OpenStatus({ checked, onCheck }: Pick<TokenFieldProps, 'checked' | 'onCheck'>) {
  return (
    <div class="field token">
      <p class={checked.state === 'bad' ? 'wrong' : 'hint'} id="token-status" role="status">
        {checked.state === 'bad' ? tellChecked(checked) : 'This gateway needs no token.'}
      </p>
      {checked.state === 'bad' ? <Button onClick={onCheck}>Try again</Button> : null}
    </div>
  )
}

function TokenStatus({ checked }: { checked: Checked }) {
  const looks = { unchecked: 'hint', checking: 'hint', good: 'hint good', bad: 'wrong' } as const
  return (
    <p class={looks[checked.state]} id="token-status" role="status">
      {tellChecked(checked)}
    </p>
  )
}

function tellChecked(checked: Checked): string {
  switch (checked.state) {
    case 'unchecked':
      return 'Stored in this tab only, and sent only to this gateway.'
    case 'checking':
      return 'Checking …'
    case 'bad':
      return checked.status === undefined ? checked.message : `${checked.status}: ${checked.message}`
    case 'good':
      return checked.models.length === 1
        ? 'Valid token · 1 model available'
        : `Valid token · ${checked.models.length} models available`
    default:
      return checked satisfies never
  }
}
