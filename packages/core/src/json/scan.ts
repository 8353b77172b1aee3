/** One member of a document's top-level object: its key and where its value stands in the text. */
export interface Member {
  readonly key: string
  readonly start: number
  readonly end: number
}

export interface Scan {
  /** Nesting exceeds the limit; `members` is then incomplete. */
  readonly tooDeep: boolean
  /** The top-level object's members in order, duplicates included; empty for anything but an object. */
  readonly members: readonly Member[]
}

const quote = 34
const backslash = 92

/**
 * One linear pass over JSON text, before anything parses it: how deep it nests, and where its top-level values stand.
 * `JSON.parse` accepts millions of levels that `JSON.stringify` and any recursive walk then die of. The text need not be
 * valid: on broken text the members mean nothing, and the parser that follows says so.
 */
export function scanJson(text: string, maxDepth: number): Scan {
  const members: Member[] = []
  let depth = 0
  let key: string | undefined
  let keyText: string | undefined
  let start = -1
  let inObject = false
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case quote: {
        const end = stringEnd(text, i)
        if (depth === 1 && inObject && key === undefined) keyText = text.slice(i, end)
        i = end - 1
        break
      }
      case 123: // {
      case 91: // [
        if (++depth > maxDepth) return { tooDeep: true, members }
        if (depth === 1) inObject = text.charCodeAt(i) === 123
        break
      case 125: // }
      case 93: // ]
        depth--
        if (depth === 0 && key !== undefined) {
          members.push({ key, start, end: trimmedEnd(text, i) })
          key = undefined
        }
        break
      case 58: // :
        if (depth === 1 && inObject && keyText !== undefined) {
          key = readKey(keyText)
          keyText = undefined
          start = trimmedStart(text, i + 1)
        }
        break
      case 44: // ,
        if (depth === 1 && key !== undefined) {
          members.push({ key, start, end: trimmedEnd(text, i) })
          key = undefined
        }
        break
    }
  }
  return { tooDeep: false, members }
}

/** Whether JSON text nests deeper than that. Most texts have fewer brackets than they may have levels. */
export const nestsDeeper = (text: string, maxDepth: number): boolean =>
  count(text, '{', maxDepth) + count(text, '[', maxDepth) > maxDepth && scanJson(text, maxDepth).tooDeep

/** How often the text holds a character; one more than `most` for anything above. */
function count(text: string, char: string, most: number): number {
  let found = 0
  for (let at = text.indexOf(char); at >= 0 && found <= most; at = text.indexOf(char, at + 1)) found++
  return found
}

/** Index after the closing quote of the string that opens at `open`; the text's end if it never closes. */
function stringEnd(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let slashes = 0
    while (text.charCodeAt(close - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return close + 1
  }
  return text.length
}

function readKey(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted) as string
  } catch {
    return quoted
  }
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

function trimmedStart(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function trimmedEnd(text: string, to: number): number {
  let at = to
  while (isSpace(text.charCodeAt(at - 1))) at--
  return at
}
