import type { Json, JsonObject } from '../base/json/json.ts'
import type { Loss, Report } from './ir.ts'

/** Bounds the losses of a response: a stream may have an unknown field in each of a million events. `limits` bounds requests. */
const maxAnswerLosses = 10_000

/** The losses of a request. */
export interface RequestReport extends Report {
  /** Returns a report for the response. It adds to the same list, but does not keep the request in memory. */
  forResponse(): Report
}

/**
 * Creates the list of losses of one call. Losses that differ only in severity are listed once.
 *
 * @param body the client's request. A path below a list element that does not exist there is shortened to an existing member
 * @param isDefault returns whether a path of the body has its default value, which is no loss
 */
export function createReport(
  body?: JsonObject,
  isDefault?: (path: string) => boolean,
  losses: Loss[] = [],
): RequestReport {
  // Created on first use: most calls lose nothing. A set, because a call may lose one field in each of 50,000 messages.
  let known: Set<string> | undefined
  let inAnswer = 0
  return {
    losses,
    forResponse: () => createReport(undefined, undefined, losses),
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
