import type { Json, JsonObject } from '../base/json/json.ts'
import type { Loss, Report } from './ir.ts'

/** Bounds the losses of a response: a stream may have an unknown field in each of a million events. `limits` bounds requests. */
const maxAnswerLosses = 10_000

/**
 * Creates the list of losses of one call. Losses that differ only in severity are listed once.
 *
 * @param body the client's request. A path below a list element that does not exist there is shortened to an existing member
 * @param isDefault returns whether a path of the body has its default value, which is no loss
 */
export function createReport(body?: JsonObject, isDefault?: (path: string) => boolean): Report {
  const losses: Loss[] = []
  // Created on first use: most calls lose nothing. A set, because a call may lose one field in each of 50,000 messages.
  let known: Set<string> | undefined
  let inAnswer = 0
  return {
    losses,
    add(given) {
      const loss =
        body === undefined || given.side !== undefined ? given : { ...given, path: existingPath(given.path, body) }
      if (isDefault !== undefined && loss.side === undefined && loss.severity !== 'fatal' && isDefault(loss.path))
        return
      const { path, side = '', kind, detail } = loss
      const key = `${path}\n${side}\n${kind}\n${detail}`
      known ??= new Set()
      if (known.has(key)) return
      if (loss.side === 'answer' && ++inAnswer > maxAnswerLosses) {
        addUnlisted(losses, loss.severity)
        return
      }
      known.add(key)
      losses.push(loss)
    },
  }
}

/** Adds one entry per severity for all further losses of the response, so that loss policies see it. */
function addUnlisted(losses: Loss[], severity: Loss['severity']): void {
  const detail = `more than ${maxAnswerLosses} losses: further ones are not listed`
  // Only such entries are added from here on, so they are the last ones.
  for (const last of losses.slice(-3)) if (last.detail === detail && last.severity === severity) return
  losses.push({ path: '', kind: 'unsupported', severity, detail, side: 'answer' })
}

/**
 * Shortens a path to the part that exists in the client's body, because formats nest fields at different depths. A missing field outside
 * of lists keeps its path: its value is a default that the gateway added.
 */
function existingPath(path: string, body: JsonObject): string {
  const steps = path.split('/')
  let value: Json | undefined = body
  let inList = false
  for (let at = 1; at < steps.length; at++) {
    const step = (steps[at] as string).replaceAll('~1', '/').replaceAll('~0', '~')
    const next: Json | undefined = Array.isArray(value)
      ? value[Number(step)]
      : value !== null && typeof value === 'object' && Object.hasOwn(value, step)
        ? value[step]
        : undefined
    if (Array.isArray(value)) inList = true
    if (next === undefined) return inList ? steps.slice(0, at).join('/') : path
    value = next
  }
  return path
}

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

/** Encodes a structured-field string: non-ASCII characters are percent-encoded, as in a URI fragment. */
export function sfString(text: string): string {
  let out = '"'
  for (const char of text) {
    if (char === '"' || char === '\\') out += `\\${char}`
    else if (char >= ' ' && char <= '~') out += char
    else out += encodeLoose(char)
  }
  return `${out}"`
}

function encodeLoose(char: string): string {
  try {
    return encodeURIComponent(char)
  } catch {
    return '%EF%BF%BD' // a lone surrogate
  }
}
