import { cx } from '../parts/cx.ts'
import type { JsonLine } from './json-lines.ts'
import type { Mark, Shown } from './marks.ts'

export interface JsonTreeProps {
  /** Prefix of the lines' ids. */
  id: string
  label: string
  shown: readonly Shown[]
  marks?: ReadonlyMap<number, Mark>
  /** Returns a class and a label for a line. */
  noteOf?: (line: JsonLine) => { readonly look: string; readonly word: string } | undefined
}

export const lineId = (tree: string, index: number): string => `${tree}-${index}`

/** JSON, line by line, so that each line can be linked to. */
export function JsonTree({ id, label, shown, marks, noteOf }: JsonTreeProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the section scrolls and must be reachable by keyboard
    <section class="json" aria-label={label} tabIndex={0}>
      <ol>
        {shown.map((one) =>
          'skipped' in one ? (
            <li key={`after-${one.skipped}`} class="gap">
              {one.skipped.toLocaleString('en')} more lines. Copy includes them.
            </li>
          ) : (
            <Line
              key={one.index}
              id={lineId(id, one.index)}
              line={one.line}
              mark={marks?.get(one.index)}
              noteOf={noteOf}
            />
          ),
        )}
      </ol>
    </section>
  )
}

interface LineProps {
  id: string
  line: JsonLine
  mark: Mark | undefined
  noteOf: JsonTreeProps['noteOf']
}

function Line({ id, line, mark, noteOf }: LineProps) {
  const note = noteOf?.(line)
  return (
    <li id={id} tabIndex={-1} class={cx('line', mark && `lost ${mark.severity}`, note?.look)}>
      <span class="written">
        {'  '.repeat(line.depth)}
        <span class="name">{line.name}</span>
        <span class={typeof line.leaf === 'string' ? 'string' : undefined}>{line.text}</span>
        {note === undefined ? null : <span class="out-of-sight"> ({note.word})</span>}
      </span>
      {mark?.losses.map(({ path, kind, detail }) => (
        <span key={`${path} ${kind} ${detail}`} class="why">
          <strong>{kind}</strong> {path === line.pointer ? null : <code>{path}</code>} {detail}
        </span>
      ))}
    </li>
  )
}
