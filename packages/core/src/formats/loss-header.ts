import type { Loss } from './ir.ts'
import { sfString } from './loss-report.ts'

const headerBytes = 3072

/**
 * Returns the `modelgate-loss` header: a structured-field list (RFC 9651) of at most 3 kB, fatal losses and warnings first, then notes.
 * Notes that differ only in their path are one item with a `count`. A last item counts the losses that did not fit:
 * `"/seed";kind=unsupported;severity=warn, "...";more=12;notes=3`. A path into the upstream's answer is marked `;in=answer`.
 */
export function lossHeader(losses: readonly Loss[]): string | undefined {
  if (losses.length === 0) return undefined
  const items: string[] = []
  let size = 0
  const fits = (item: string): boolean => {
    size += item.length + 2
    if (size > headerBytes) return false
    items.push(item)
    return true
  }
  const list = <T>(all: readonly T[], write: (one: T) => string): readonly T[] => {
    const left = all.findIndex((one) => !fits(write(one)))
    return left < 0 ? [] : all.slice(left)
  }
  const fatal = losses.filter(({ severity }) => severity === 'fatal')
  const warnings = losses.filter(({ severity }) => severity === 'warn')
  const more = list([...fatal, ...warnings], headerItem).length
  const notes = list(groupNotes(losses), ({ first, count }) =>
    count === 1 ? headerItem(first) : `${headerItem(first)};count=${count}`,
  ).reduce((sum, { count }) => sum + count, 0)
  if (more > 0 || notes > 0) items.push(`"..."${more > 0 ? `;more=${more}` : ''}${notes > 0 ? `;notes=${notes}` : ''}`)
  return items.join(', ')
}

const headerItem = ({ path, kind, severity, side }: Loss): string =>
  `${sfString(path)};kind=${kind};severity=${severity}${side === undefined ? '' : `;in=${side}`}`

/** Groups notes that differ only in their path: an agent's request has the same hint in every message. */
function groupNotes(losses: readonly Loss[]): readonly { readonly first: Loss; readonly count: number }[] {
  const groups = new Map<string, { first: Loss; count: number }>()
  for (const loss of losses) {
    if (loss.severity !== 'note') continue
    const key = `${loss.kind}\n${loss.side ?? ''}\n${loss.detail}`
    const known = groups.get(key)
    if (known === undefined) groups.set(key, { first: loss, count: 1 })
    else known.count++
  }
  return [...groups.values()]
}
