import { useEffect, useRef, useState } from 'preact/hooks'
import { Button, buttonClass } from '../../parts/button.tsx'
import { copyText } from '../../parts/copy-text.ts'
import { saveFile } from '../../parts/save-file.ts'
import type { Rounds } from '../conversation/rounds.ts'
import { conversationFile, type ReadFile, readConversationFile } from './conversation-file.ts'
import { linkOf } from './link.ts'
import type { Shared } from './shared-draft.ts'

export interface ShareMenuProps {
  readonly rounds: Rounds
  /** Returns the settings and the prompt as they are now. */
  readonly shared: () => Shared
  readonly onImport: (read: Exclude<ReadFile, { readonly wrong: string }>) => void
  /** Reports success and failure. */
  readonly onMessage: (message: string, kind: 'good' | 'bad') => void
}

/** The menu that copies a link, and exports and imports the conversation. */
export function ShareMenu({ rounds, shared, onImport, onMessage }: ShareMenuProps) {
  const [open, setOpen] = useState(false)
  const picker = useRef<HTMLInputElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!open) return undefined
    const close = (event: Event): void => {
      const isOutside = !(event.target instanceof Node && menu.current?.contains(event.target))
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : isOutside) setOpen(false)
    }
    addEventListener('pointerdown', close)
    addEventListener('keydown', close)
    return () => {
      removeEventListener('pointerdown', close)
      removeEventListener('keydown', close)
    }
  }, [open])

  const choose = (work: () => unknown) => () => {
    setOpen(false)
    work()
  }
  const copyLink = async (): Promise<void> => {
    const link = linkOf(shared(), location.href)
    if (link === undefined)
      onMessage('The prompt and the settings are too long for a link. Export the conversation instead.', 'bad')
    else if (await copyText(link)) onMessage('Copied a link with the prompt and the settings. It has no token.', 'good')
    else onMessage('The browser did not allow copying.', 'bad')
  }
  const importFile = async (file: File): Promise<void> => {
    const read = await readConversationFile(file)
    if ('wrong' in read) onMessage(read.wrong, 'bad')
    else if (rounds.all.length === 0 || confirm('Replace the current conversation with the imported one?')) {
      onImport(read)
      onMessage(`Imported ${read.rounds.all.length === 1 ? '1 call' : `${read.rounds.all.length} calls`}.`, 'good')
    }
  }
  return (
    <div class="menu" ref={menu}>
      <button
        type="button"
        class={buttonClass({ look: 'quiet', small: true })}
        aria-expanded={open}
        aria-controls="share-menu"
        onClick={() => setOpen(!open)}
      >
        Share
      </button>
      <div id="share-menu" class="menu-items" hidden={!open}>
        <Button small look="quiet" onClick={choose(() => void copyLink())}>
          Copy link to prompt and settings
        </Button>
        <Button
          small
          look="quiet"
          disabled={rounds.all.length === 0}
          onClick={choose(() => saveFile('modelgate-conversation.json', jsonFile(conversationFile(rounds, shared()))))}
        >
          Export conversation
        </Button>
        <Button small look="quiet" onClick={choose(() => picker.current?.click())}>
          Import conversation
        </Button>
      </div>
      <input
        ref={picker}
        class="out-of-sight"
        type="file"
        aria-label="File with a conversation"
        accept="application/json,.json"
        tabIndex={-1}
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? []
          if (file !== undefined) void importFile(file)
          event.currentTarget.value = ''
        }}
      />
    </div>
  )
}

const jsonFile = (text: string): Blob => new Blob([text], { type: 'application/json' })
