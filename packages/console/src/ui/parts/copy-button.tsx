import { useEffect, useState } from 'preact/hooks'
import { Button, type ButtonLook } from './button.tsx'
import { copyText } from './copy-text.ts'
import { CheckIcon, CopyIcon } from './icons.tsx'

export interface CopyButtonProps extends ButtonLook {
  text: string
  /** Name of the copied thing for messages: "the API address". */
  what: string
}

/** Duration of the confirmation. */
const saidMs = 2000

export function CopyButton({ text, what, ...look }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>()
  useEffect(() => {
    if (outcome === undefined) return undefined
    const timer = setTimeout(() => setOutcome(undefined), saidMs)
    return () => clearTimeout(timer)
  }, [outcome])
  const word = outcome === 'copied' ? 'Copied' : outcome === 'refused' ? 'Select and copy it' : 'Copy'
  return (
    <>
      <Button
        {...look}
        label={`Copy ${what}`}
        done={outcome === 'copied'}
        onClick={() => void copyText(text).then((copied) => setOutcome(copied ? 'copied' : 'refused'))}
      >
        {outcome === 'copied' ? <CheckIcon /> : <CopyIcon />}
        {look.icon ? null : word}
      </Button>
      <span class="out-of-sight" aria-live="polite">
        {outcome === 'copied' ? `Copied ${what}` : outcome === 'refused' ? 'The browser did not allow copying.' : ''}
      </span>
    </>
  )
}
