import { useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from '../../../parts/button.tsx'
import { CrossIcon, PlusIcon } from '../../icons.tsx'

export interface TextListProps {
  /** Prefix of the ids, unique on the page. */
  id: string
  /** Name of one text, such as `Text`. */
  name: string
  texts: readonly string[]
  /** Fields that cannot be removed. */
  least: number
  onTexts: (texts: readonly string[]) => void
}

/** A list of texts, each in an input of its own. */
export function TextList({ id, name, texts, least, onTexts }: TextListProps) {
  const list = useRef<HTMLOListElement>(null)
  /** Place of the input to focus after the next rendering, which adds or removes one. */
  const toFocus = useRef<number | undefined>(undefined)
  useLayoutEffect(() => {
    if (toFocus.current !== undefined) list.current?.querySelectorAll('textarea')[toFocus.current]?.focus()
    toFocus.current = undefined
  }, [texts.length])
  return (
    <div class="text-list">
      <ol ref={list}>
        {texts.map((text, at) => (
          <li key={at} class="field">
            <label for={`${id}-${at}`}>
              {name} {at + 1}
            </label>
            <textarea
              id={`${id}-${at}`}
              class="input"
              rows={2}
              value={text}
              onInput={(event) => onTexts(replaced(texts, at, event.currentTarget.value))}
            />
            {texts.length <= least ? null : (
              <Button
                small
                icon
                look="quiet"
                label={`Remove ${name.toLowerCase()} ${at + 1}`}
                onClick={() => {
                  toFocus.current = Math.max(at - 1, 0)
                  onTexts(texts.filter((_, index) => index !== at))
                }}
              >
                <CrossIcon />
              </Button>
            )}
          </li>
        ))}
      </ol>
      <Button
        small
        look="quiet"
        onClick={() => {
          toFocus.current = texts.length
          onTexts([...texts, ''])
        }}
      >
        <PlusIcon />
        Add {name.toLowerCase()}
      </Button>
    </div>
  )
}

const replaced = (texts: readonly string[], at: number, text: string): readonly string[] =>
  texts.map((one, index) => (index === at ? text : one))
