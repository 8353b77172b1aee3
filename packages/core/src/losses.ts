import type { Json, JsonObject, Loss, Report } from './formats/ir.ts'
import { type AnswerPointers, answerPath } from './formats/shared/answer-pointers.ts'

/**
 * A list to which codecs add what they could not carry. The same loss (all but its severity) is kept once.
 *
 * @param body the client's request: a path into a list of it that leads to nothing there is cut to what does stand there
 */
export function createReport(body?: JsonObject): Report {
  const losses: Loss[] = []
  // Most calls lose nothing. Those that lose much (one field in each of 50,000 messages) must not cost the square of it.
  let known: Set<string> | undefined
  return {
    losses,
    add(given) {
      const loss =
        body === undefined || given.side !== undefined ? given : { ...given, path: standing(given.path, body) }
      const { path, side = '', kind, detail } = loss
      const key = `${path}\n${side}\n${kind}\n${detail}`
      known ??= new Set()
      if (known.has(key)) return
      known.add(key)
      losses.push(loss)
    },
  }
}

/**
 * Formats put the same thing at different depths. Fields that are missing altogether keep their name: a default was made up
 * for one of them.
 */
function standing(path: string, body: JsonObject): string {
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

/**
 * The same list, for what is found while an answer is translated.
 *
 * @param pointers where things stand in the upstream's answers; default: paths are taken as they are
 */
export const answerSide = (report: Report, pointers?: AnswerPointers): Report => ({
  losses: report.losses,
  add: (loss) =>
    report.add({ ...loss, path: pointers === undefined ? loss.path : answerPath(loss.path, pointers), side: 'answer' }),
})

const rank = { fatal: 0, warn: 1, note: 2 } as const
const headerBytes = 3072

/**
 * The `modelgate-loss` header: a structured-field list (RFC 9651), worst first, of at most 3 kB. What did not fit is
 * counted in a last item: `"/seed";kind=unsupported;severity=warn, "...";more=12`. A path into the upstream's answer is
 * marked `;in=answer`.
 */
export function lossHeader(losses: readonly Loss[]): string | undefined {
  if (losses.length === 0) return undefined
  const sorted = [...losses].sort((a, b) => rank[a.severity] - rank[b.severity])
  const items: string[] = []
  let size = 0
  for (const { path, kind, severity, side } of sorted) {
    const item = `${sfString(path)};kind=${kind};severity=${severity}${side === undefined ? '' : `;in=${side}`}`
    size += item.length + 2
    if (size > headerBytes) {
      items.push(`"...";more=${sorted.length - items.length}`)
      break
    }
    items.push(item)
  }
  return items.join(', ')
}

/** A structured-field string holds printable ASCII only; anything else is percent-encoded, as in a URI fragment pointer. */
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
