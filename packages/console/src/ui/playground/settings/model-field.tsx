import type { ModelDescription } from '@modelgate/core'
import { useRef, useState } from 'preact/hooks'
import { cx } from '../../parts/cx.ts'
import { modelFacts } from '../call/models.ts'

export interface ModelFieldProps {
  /** The models that fit. */
  models: readonly ModelDescription[]
  model: string
  onChange: (model: string) => void
  /** Prefix of the ids, unique on the page. Default: `model`. */
  id?: string
  label?: string
  /** Number of models of the token that do not fit, and for what: `2 other models don't support chat.` */
  left?: { readonly count: number; readonly what: string }
}

/** Searches the listed models. Any other name may be typed: patterns (`gpt-*`) are not listed. */
export function ModelField({ models, model, onChange, id = 'model', label = 'Model', left }: ModelFieldProps) {
  const [open, setOpen] = useState(false)
  // Until something is typed, the whole list is shown and not only the current model.
  const [filter, setFilter] = useState<string>()
  const [active, setActive] = useState(-1)
  const list = useRef<HTMLDivElement>(null)
  const words = (filter ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const shown = models.filter((one) => words.every((word) => one.id.toLowerCase().includes(word)))
  const known = models.find((one) => one.id === model)
  const isOpen = open && shown.length > 0
  const show = (): void => {
    setOpen(true)
    setActive(-1)
  }
  const close = (): void => {
    setOpen(false)
    setFilter(undefined)
    setActive(-1)
  }
  const choose = (name: string): void => {
    onChange(name)
    close()
  }
  const move = (to: number): void => {
    const next = (to + shown.length) % shown.length
    setActive(next)
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' })
  }
  const pressed = (event: KeyboardEvent): void => {
    const { key } = event
    if (event.isComposing) return
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      if (shown.length === 0) return
      if (!isOpen) show()
      const start = active < 0 ? shown.findIndex((one) => one.id === model) : active
      move(key === 'ArrowDown' ? start + 1 : start < 0 ? -1 : start - 1)
    } else if (key === 'Enter' && isOpen) {
      const name = shown[active]?.id
      if (name === undefined) close()
      else choose(name)
    } else if (key === 'Escape' && isOpen) {
      close()
      event.stopPropagation()
    } else return
    event.preventDefault()
  }
  return (
    <div class="field model-field">
      <label for={id}>{label}</label>
      <div class="combobox">
        <input
          id={id}
          class="input mono"
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-describedby={`${id}-hint`}
          {...(isOpen && active >= 0 ? { 'aria-activedescendant': `${id}-${active}` } : {})}
          value={model}
          placeholder={models.length === 0 ? 'Name at this gateway' : 'Search or type a name'}
          autocomplete="off"
          spellcheck={false}
          onClick={show}
          onBlur={close}
          onKeyDown={pressed}
          onInput={(event) => {
            const { value } = event.currentTarget
            onChange(value)
            setFilter(value)
            show()
          }}
        />
        <div
          id={`${id}-list`}
          class="options"
          role="listbox"
          aria-label="Models"
          hidden={!isOpen}
          ref={list}
          onMouseDown={(event) => event.preventDefault()}
        >
          {isOpen
            ? shown.map((one, at) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
                <div
                  key={one.id}
                  id={`${id}-${at}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={one.id === model}
                  class={cx(at === active && 'active')}
                  onClick={() => choose(one.id)}
                >
                  <span class="mono">{one.id}</span>
                  <span class="facts">{modelFacts(one).join(' · ')}</span>
                </div>
              ))
            : null}
        </div>
      </div>
      <span class="hint" id={`${id}-hint`}>
        {hintOf({ models, model, known, left })}
      </span>
    </div>
  )
}

function hintOf({
  models,
  model,
  known,
  left,
}: Pick<ModelFieldProps, 'models' | 'model'> & {
  known: ModelDescription | undefined
  left: ModelFieldProps['left'] | undefined
}): string {
  if (known !== undefined) return modelFacts(known).join(' · ')
  if (models.length === 0 && left === undefined) return 'Check the token to choose from a list.'
  if (model !== '') return 'Not listed: patterns accept more names.'
  if (left === undefined || left.count === 0) return ''
  return left.count === 1
    ? `1 other model doesn’t support ${left.what}.`
    : `${left.count} other models don’t support ${left.what}.`
}
