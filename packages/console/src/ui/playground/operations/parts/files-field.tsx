import { useRef, useState } from 'preact/hooks'
import { Button } from '../../../parts/button.tsx'
import { cx } from '../../../parts/cx.ts'
import { sizeText } from '../../../parts/size-text.ts'
import { CrossIcon } from '../../icons.tsx'
import { useObjectUrl } from './object-url.ts'

export interface FilesFieldProps {
  id: string
  label: string
  /** Button that selects files: `Choose a file`. */
  action: string
  hint: string
  /** Types for the browser's file dialog. The gateway decides what it accepts. */
  accept: string
  /** True: several files. */
  multiple: boolean
  files: readonly File[]
  onFiles: (files: readonly File[]) => void
}

/** Selects files with a dialog, by dropping or by pasting them. */
export function FilesField({ id, label, action, hint, accept, multiple, files, onFiles }: FilesFieldProps) {
  const [over, setOver] = useState(false)
  const picker = useRef<HTMLInputElement>(null)
  const add = (list: FileList | null | undefined): boolean => {
    const given = [...(list ?? [])]
    if (given.length === 0) return false
    onFiles(multiple ? [...files, ...given] : given.slice(0, 1))
    return true
  }
  return (
    <fieldset
      class={cx('files-field', over && 'over')}
      aria-describedby={`${id}-hint`}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false)
        if (add(event.dataTransfer?.files)) event.preventDefault()
      }}
      onPaste={(event) => {
        if (add(event.clipboardData?.files)) event.preventDefault()
      }}
    >
      <legend>{label}</legend>
      {files.length === 0 ? null : (
        <ul class="thumbs">
          {files.map((file, at) => (
            <li key={`${file.name} ${file.size} ${at}`}>
              <Chosen file={file} />
              <Button
                small
                icon
                label={`Remove ${file.name}`}
                onClick={() => {
                  onFiles(files.filter((one) => one !== file))
                  picker.current?.parentElement?.querySelector<HTMLElement>('.choose')?.focus()
                }}
              >
                <CrossIcon />
              </Button>
            </li>
          ))}
        </ul>
      )}
      <div class="choose-line">
        <button type="button" class="button small choose" onClick={() => picker.current?.click()}>
          {action}
        </button>
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      </div>
      <input
        ref={picker}
        id={id}
        class="out-of-sight"
        type="file"
        aria-label={label}
        accept={accept}
        multiple={multiple}
        tabIndex={-1}
        onChange={(event) => {
          add(event.currentTarget.files)
          event.currentTarget.value = ''
        }}
      />
    </fieldset>
  )
}

function Chosen({ file }: { file: File }) {
  const url = useObjectUrl(file)
  if (file.type.startsWith('image/')) return <img src={url} alt={file.name} />
  return (
    <span class="attached">
      {file.name} <small>{sizeText(file.size)}</small>
      {file.type.startsWith('audio/') || file.type.startsWith('video/') ? (
        // biome-ignore lint/a11y/useMediaCaption: the user's own recording has no captions
        <audio controls src={url} aria-label={file.name} />
      ) : null}
    </span>
  )
}
