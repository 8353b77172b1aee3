import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, buttonClass } from '../../parts/button.tsx'
import { cx } from '../../parts/cx.ts'
import type { Api, ApiRequest } from '../formats/format.ts'
import { InspectIcon, SendIcon, StopIcon } from '../icons.tsx'
import type { AsCode, Snippet } from '../inspect/as-code.ts'
import { RequestView } from '../inspect/request-view.tsx'

export interface RequestFormProps {
  /** Label of the button that makes the call. */
  action: string
  /** The request as it is now. */
  request: ApiRequest
  api: Api
  /** Reason why nothing can be sent now. */
  blockedReason: string | undefined
  running: boolean
  base: string
  withToken: boolean
  snippets: (call: AsCode) => readonly Snippet[]
  /** Fills in an example. Undefined: there is none. */
  onExample: (() => void) | undefined
  onSend: () => void
  onStop: () => void
  /** The inputs. */
  children: ComponentChildren
}

/** The inputs of a call, its buttons, and its request as code. */
export function RequestForm({
  action,
  request,
  api,
  blockedReason,
  running,
  base,
  withToken,
  snippets,
  onExample,
  onSend,
  onStop,
  children,
}: RequestFormProps) {
  const [showsCode, setShowsCode] = useState(false)
  const canSend = blockedReason === undefined && !running
  return (
    <form
      class="request-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (canSend) onSend()
      }}
      onKeyDown={(event) => {
        // In an input of several lines, Enter begins a new line.
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return
        event.preventDefault()
        if (canSend) onSend()
      }}
    >
      {children}
      <div class="actions">
        <span class={cx('hint', blockedReason === undefined && 'keys')}>{blockedReason ?? 'Ctrl+Enter to send'}</span>
        {onExample === undefined ? null : (
          <Button small look="quiet" onClick={onExample}>
            Example
          </Button>
        )}
        <button
          type="button"
          class={buttonClass({ look: 'quiet', small: true })}
          aria-expanded={showsCode}
          aria-controls="request-code"
          onClick={() => setShowsCode(!showsCode)}
        >
          <InspectIcon />
          Code
        </button>
        {running ? (
          <Button onClick={onStop}>
            <StopIcon />
            Stop
          </Button>
        ) : (
          <button type="submit" class="button primary" disabled={!canSend}>
            <SendIcon />
            {action}
          </button>
        )}
      </div>
      <div id="request-code" class="inspect" hidden={!showsCode}>
        {showsCode ? (
          <RequestView
            name="form-code"
            exchange={{ format: api, request }}
            base={base}
            withToken={withToken}
            snippets={snippets}
          />
        ) : null}
      </div>
    </form>
  )
}
