import { useState } from 'preact/hooks'
import type { ApiError } from '../admin/api.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Notice } from '../parts/notice.tsx'
import { Select } from '../parts/select.tsx'

interface ActionDialogProps {
  /** Name or id of the token. */
  name: string
  onClose: () => void
}

/** Asks before a token is revoked, because that is final. */
export function RevokeDialog({ name, onClose, onRevoke }: ActionDialogProps & { onRevoke: () => Promise<void> }) {
  const { isSending, failure, send } = useSending(onRevoke)
  return (
    <Dialog title={`Revoke ${name}?`} onClose={onClose}>
      <p>Clients that use this token get an error from now on. This cannot be undone.</p>
      {failure === undefined ? null : <Notice kind="bad">{failure}</Notice>}
      <div class="actions">
        <Button look="primary" disabled={isSending} onClick={send}>
          Revoke token
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </Dialog>
  )
}

const hourMs = 3_600_000

const graces = [
  { value: '0', title: 'End at once' },
  { value: String(hourMs), title: '1 hour' },
  { value: String(24 * hourMs), title: '24 hours' },
  { value: String(7 * 24 * hourMs), title: '7 days' },
  { value: String(30 * 24 * hourMs), title: '30 days' },
]

/** Asks how long the old secret stays valid. */
export function RotateDialog({
  name,
  onClose,
  onRotate,
}: ActionDialogProps & { onRotate: (graceMs: number) => Promise<void> }) {
  const [grace, setGrace] = useState(String(24 * hourMs))
  const { isSending, failure, send } = useSending(() => onRotate(Number(grace)))
  return (
    <Dialog title={`Rotate ${name}?`} onClose={onClose}>
      <p>The token gets a new secret. Its name, limits and usage stay.</p>
      <Select id="grace" label="The old secret stays valid for" value={grace} options={graces} onChange={setGrace} />
      {failure === undefined ? null : <Notice kind="bad">{failure}</Notice>}
      <div class="actions">
        <Button look="primary" disabled={isSending} onClick={send}>
          Rotate token
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </Dialog>
  )
}

/** Sends once at a time, and keeps the message of a failure. */
function useSending(act: () => Promise<void>) {
  const [isSending, setSending] = useState(false)
  const [failure, setFailure] = useState<string>()
  const send = (): void => {
    setSending(true)
    setFailure(undefined)
    act().catch((error: ApiError) => {
      setFailure(error.message)
      setSending(false)
    })
  }
  return { isSending, failure, send }
}
