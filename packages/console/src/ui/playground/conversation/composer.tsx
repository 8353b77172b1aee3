import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { cx } from '../../parts/cx.ts'
import type { Question } from '../formats/format.ts'
import { CrossIcon, ImageIcon, SendIcon, StopIcon } from '../icons.tsx'
import { Attached } from './attached.tsx'
import { type Attachments, attachmentTypes, readAttachments } from './attachments.ts'

export interface ComposerProps {
  /** Unique id on the page. */
  id: string
  label: string
  first?: Question
  /** Reason why nothing can be sent now. */
  blockedReason?: string | undefined
  /** Reason why audio cannot be sent: the client format has none. */
  audioReason?: string | undefined
  running?: boolean
  /** Earlier questions, which the arrow keys recall. */
  earlier?: readonly string[]
  onSend: (question: Question) => void
  onStop?: () => void
  onCancel?: () => void
}

const nothing: Question = { role: 'user', text: '', images: [] }

/** The input of a question: a new one below the conversation, or an old one in its place. */
export function Composer({
  id,
  label,
  first = nothing,
  blockedReason: blocked,
  audioReason,
  running = false,
  earlier = [],
  onSend,
  onStop,
  onCancel,
}: ComposerProps) {
  const [text, setText] = useState(first.text)
  const [attached, setAttached] = useState<Attachments>({ images: first.images, files: first.files ?? [] })
  const { images, files } = attached
  const all = [...images, ...files]
  const blockedReason = blocked ?? (files.some(({ type }) => type.startsWith('audio/')) ? audioReason : undefined)
  const [refused, setRefused] = useState<readonly string[]>([])
  const [over, setOver] = useState(false)
  // Index of the recalled question; undefined: none.
  const recalled = useRef<number>(undefined)
  const picker = useRef<HTMLInputElement>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  const isEmpty = text.trim() === '' && all.length === 0
  const canSend = !isEmpty && blockedReason === undefined && !running

  const isEdit = onCancel !== undefined
  const isFilled = isEdit || first.text !== ''
  useEffect(() => {
    if (isFilled) area.current?.focus()
  }, [isFilled])

  const submit = (): void => {
    if (!canSend) return
    // The pressed button is about to be replaced.
    area.current?.focus()
    onSend({ role: 'user', text: text.trim(), images, ...(files.length === 0 ? {} : { files }) })
    setText('')
    recalled.current = undefined
    setAttached({ images: [], files: [] })
    setRefused([])
  }
  const attach = async (given: Iterable<File>): Promise<void> => {
    const { refused, ...read } = await readAttachments(given, attached)
    setAttached(read)
    setRefused(refused)
  }
  /** Returns true if the key showed an earlier question. Only an empty field, or a recalled question, gives way to another. */
  const recall = (key: string): boolean => {
    const shown = recalled.current === undefined ? '' : earlier[recalled.current]
    if ((key !== 'ArrowUp' && key !== 'ArrowDown') || text !== shown || earlier.length === 0) return false
    const from = recalled.current ?? earlier.length
    const next = Math.max(0, Math.min(earlier.length, from + (key === 'ArrowUp' ? -1 : 1)))
    recalled.current = next === earlier.length ? undefined : next
    setText(earlier[next] ?? '')
    return true
  }
  const pressed = (event: KeyboardEvent): void => {
    if (recall(event.key)) event.preventDefault()
    if (event.key === 'Escape') onCancel?.()
    // During input method composition, Enter only accepts a suggestion.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    submit()
  }
  const dropped = (event: DragEvent): void => {
    setOver(false)
    const files = filesOf(event.dataTransfer)
    if (files.length === 0) return
    event.preventDefault()
    void attach(files)
  }

  return (
    <form
      class={cx('composer', over && 'over')}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={dropped}
    >
      <label class="out-of-sight" for={id}>
        {label}
      </label>
      {all.length === 0 ? null : (
        <ul class="thumbs">
          {all.map((file) => (
            <li key={file.name + file.data.slice(-40) + file.data.length}>
              <Attached file={file} />
              <Button
                small
                icon
                label={`Remove ${file.name}`}
                onClick={() =>
                  setAttached({
                    images: images.filter((one) => one !== file),
                    files: files.filter((one) => one !== file),
                  })
                }
              >
                <CrossIcon />
              </Button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        id={id}
        rows={isEdit ? 3 : 2}
        value={text}
        placeholder="Ask something"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={pressed}
        onPaste={(event) => {
          const files = filesOf(event.clipboardData)
          if (files.length === 0) return
          event.preventDefault()
          void attach(files)
        }}
      />
      <div class="actions">
        <Button look="quiet" icon label="Attach images, PDF or audio" onClick={() => picker.current?.click()}>
          <ImageIcon />
        </Button>
        <input
          ref={picker}
          class="out-of-sight"
          type="file"
          accept={attachmentTypes.join(',')}
          multiple
          tabIndex={-1}
          aria-hidden="true"
          onChange={(event) => {
            void attach([...(event.currentTarget.files ?? [])])
            event.currentTarget.value = ''
          }}
        />
        <span class={cx('hint', blockedReason === undefined && 'keys')}>
          {blockedReason ?? 'Enter to send, Shift+Enter for a new line'}
        </span>
        {onCancel === undefined ? null : (
          <Button look="quiet" small onClick={onCancel}>
            Cancel
          </Button>
        )}
        {running ? (
          <Button
            onClick={() => {
              area.current?.focus()
              onStop?.()
            }}
          >
            <StopIcon />
            Stop
          </Button>
        ) : (
          <button type="submit" class="button primary" disabled={!canSend}>
            <SendIcon />
            {isEdit ? 'Send again' : 'Send'}
          </button>
        )}
      </div>
      <p class="refused" role="status">
        {refused.join(' ')}
      </p>
    </form>
  )
}

const filesOf = (data: DataTransfer | null): readonly File[] => [...(data?.files ?? [])]
