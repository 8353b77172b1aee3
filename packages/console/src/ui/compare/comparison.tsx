import type { Loss } from '@modelgate/core'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { CopyButton } from '../parts/copy-button.tsx'
import type { Json } from './json.ts'
import { type JsonLine, jsonLines, type Origin, originsIn } from './json-lines.ts'
import { JsonTree, lineId } from './json-tree.tsx'
import { LossList, type LossListProps } from './loss-list.tsx'
import { markLosses, shownLines } from './marks.ts'
import { shorten } from './shorten.ts'

/** Limit of lines shown on each side, in addition to annotated ones. */
const most = 800

/** One side of a comparison. */
export interface Side {
  /** Prefix of the elements' ids. */
  readonly id: string
  readonly title: string
  readonly path?: string | undefined
  /** Undefined: the body is no JSON. */
  readonly body: Json | undefined
  /** Text to copy. Default: the body, formatted. */
  readonly text?: string | undefined
  /** Name for the copy button: `your request`. */
  readonly what: string
  /** Shown between the heading and the body. */
  readonly above?: ComponentChildren
  /** Shown below the body, or in place of a body that is no JSON. */
  readonly below?: ComponentChildren
}

export interface ComparisonProps {
  from: Side
  /** What became of it. Absent: nothing. */
  to: Side | undefined
  /** False: they are two bodies of one call, and not made from each other. Default: true. */
  related?: boolean
  /** Marked in `from`. */
  losses: readonly Loss[]
  /** Listed below. Each leads to its line in `from`. */
  list?: Omit<LossListProps, 'onChoose'>
}

/** Shows two bodies side by side: the losses of the first one, and the origin of each line of the second one. */
export function Comparison({ from, to, related = true, losses, list }: ComparisonProps) {
  const lines = useMemo(() => linesOf(from.body), [from.body])
  const { marks, lineOf } = useMemo(() => markLosses(lines, losses), [lines, losses])
  return (
    <>
      <div class="sides">
        <SideSection side={from}>
          {from.body === undefined ? null : (
            <JsonTree id={from.id} label={`${from.title} body`} shown={shownLines(lines, marks, most)} marks={marks} />
          )}
        </SideSection>
        {to === undefined ? null : <To from={related ? lines : []} side={to} />}
      </div>
      {list === undefined ? null : <LossList {...list} onChoose={(loss) => goTo(lineId(from.id, lineOf(loss)))} />}
    </>
  )
}

const linesOf = (body: Json | undefined): readonly JsonLine[] => (body === undefined ? [] : jsonLines(shorten(body)))

function To({ from, side }: { from: readonly JsonLine[]; side: Side }) {
  const lines = useMemo(() => linesOf(side.body), [side.body])
  const originOf = useMemo(() => originsIn(from), [from])
  const isCompared = from.length > 0 && lines.length > 0
  return (
    <SideSection side={side}>
      {lines.length === 0 ? null : (
        <JsonTree
          id={side.id}
          label={`${side.title} body`}
          shown={shownLines(lines, new Map(), most)}
          noteOf={(line) => {
            const origin = isCompared ? originOf(line) : undefined
            return origin === undefined ? undefined : looks[origin]
          }}
        />
      )}
      {isCompared ? (
        <p class="inspect-legend">
          <span class="origin-elsewhere">moved</span> <span class="origin-new">added or changed</span>
        </p>
      ) : null}
    </SideSection>
  )
}

/** Unchanged lines have no label. */
const looks: Readonly<Record<Origin, { look: string; word: string } | undefined>> = {
  same: undefined,
  elsewhere: { look: 'origin-elsewhere', word: 'moved' },
  new: { look: 'origin-new', word: 'added or changed' },
}

function SideSection({ side, children }: { side: Side; children: ComponentChildren }) {
  const { id, title, path, body, text, what, above, below } = side
  const copied = useMemo(() => text ?? (body === undefined ? '' : JSON.stringify(body, null, 2)), [text, body])
  return (
    <section aria-labelledby={`${id}-side`}>
      <div class="inspect-bar">
        <h3 id={`${id}-side`} class="inspect-title">
          {title} {path === undefined ? null : <code>{path}</code>}
        </h3>
        {copied === '' ? null : <CopyButton small icon look="quiet" text={copied} what={what} />}
      </div>
      {above}
      {children}
      {below}
    </section>
  )
}

/** Scrolls to the line and focuses it. */
function goTo(id: string): void {
  const line = document.getElementById(id)
  line?.focus({ preventScroll: true })
  line?.scrollIntoView({ block: 'nearest' })
}
