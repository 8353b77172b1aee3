import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { cx } from '../../parts/cx.ts'
import type { Image, Question } from '../formats/format.ts'
import { dataUrl } from '../formats/read.ts'
import { CrossIcon, ImageIcon, SendIcon, StopIcon } from '../icons.tsx'
import { imageTypes, readImages } from './images.ts'

export interface ComposerProps {
  /** Unique id on the page. */
  id: string
  label: string
  first?: Question
  /** Reason why nothing can be sent now. */
  blockedReason?: string | undefined
  running?: boolean
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
  blockedReason,
  running = false,
  onSend,
  onStop,
  onCancel,
}: ComposerProps) {
  const [text, setText] = useState(first.text)
  const [images, setImages] = useState<readonly Image[]>(first.images)
  const [refused, setRefused] = useState<readonly string[]>([])
  const [over, setOver] = useState(false)
  const picker = useRef<HTMLInputElement>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  const isEmpty = text.trim() === '' && images.length === 0
  const canSend = !isEmpty && blockedReason === undefined && !running

  const isEdit = onCancel !== undefined
  useEffect(() => {
    if (isEdit) area.current?.focus()
  }, [isEdit])

  const submit = (): void => {
    if (!canSend) return
    // The pressed button is about to be replaced.
    area.current?.focus()
    onSend({ role: 'user', text: text.trim(), images })
    setText('')
    setImages([])
    setRefused([])
  }
  const attach = async (files: Iterable<File>): Promise<void> => {
    const read = await readImages(files)
    setImages((before) => [...before, ...read.images])
    setRefused(read.refused)
  }
  const pressed = (event: KeyboardEvent): void => {
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
      {images.length === 0 ? null : (
        <ul class="thumbs">
          {images.map((image, at) => (
            <li key={image.data.slice(-40) + image.data.length}>
              <img src={dataUrl(image)} alt={image.name} />
              <Button
                small
                icon
                label={`Remove ${image.name}`}
                onClick={() => setImages(images.filter((_, index) => index !== at))}
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
        <Button look="quiet" icon label="Attach images" onClick={() => picker.current?.click()}>
          <ImageIcon />
        </Button>
        <input
          ref={picker}
          class="out-of-sight"
          type="file"
          accept={imageTypes.join(',')}
          multiple
          tabIndex={-1}
          aria-hidden="true"
          onChange={(event) => {
            void attach([...(event.currentTarget.files ?? [])])
            event.currentTarget.value = ''
          }}
        />
        <span class={cx('hint', blockedReason === undefined && 'keys')}>
          {blockedReason ?? 'Enter sends, Shift+Enter makes a new line'}
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
