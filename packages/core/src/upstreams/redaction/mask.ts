import type { Secrets } from './secrets.ts'

/** Whether JSON text has an escape for a character that needs none: such escapes may stand within a secret. */
export const hasNeedlessEscape = (text: string): boolean => text.includes('\\') && /\\(?:\/|u00[2-7])/.test(text)

/** JSON text without the escapes that it does not need. It means the same. */
export const unescaped = (text: string): string =>
  hasNeedlessEscape(text)
    ? text.replace(/\\(?:u00([2-7][0-9a-f])|.)/gi, (written, code: string | undefined) => {
        if (written === '\\/') return '/'
        const char = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
        return char === '' || char === '"' || char === '\\' || char === '\x7f' ? written : char
      })
    : text

/** The text with `***` in place of each secret. */
export function masked(text: string, { whole = [], words = [], parts }: Partial<Secrets>): string {
  // Long ones first: they may hold a short one.
  let clean = parts === undefined ? text : withoutParts(text, parts)
  for (const value of whole) if (clean.includes(value)) clean = clean.replaceAll(value, '***')
  for (const word of words) if (clean.includes(word)) clean = withoutWord(clean, word)
  return clean
}

function withoutParts(text: string, parts: Secrets['parts']): string {
  let clean = ''
  let from = 0
  for (let part = parts.find(text); part !== undefined; part = parts.find(text, from)) {
    clean += `${text.slice(from, behindEscape(text, part.begin))}***`
    from = part.end
  }
  return from === 0 ? text : clean + text.slice(from)
}

/** The text without a value where that stands by itself: neither letters, digits nor hyphens beside it. */
function withoutWord(text: string, word: string): string {
  let clean = ''
  let from = 0
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const end = at + word.length
    const begins = at === 0 || !inWord.test(text[at - 1] as string) || behindEscape(text, at - 1) === at
    if (!begins || (end < text.length && inWord.test(text[end] as string))) continue
    clean += `${text.slice(from, at)}***`
    from = end
  }
  return from === 0 ? text : clean + text.slice(from)
}
const inWord = /[\w-]/

/** The text may be JSON, and must stay it: half an escape is none. */
function behindEscape(text: string, begin: number): number {
  // No further back than an escape is long: what is looked for in all of a long text, time and again, takes its time squared.
  let slash = begin - 1
  while (slash > begin - 6 && text[slash] !== '\\') slash--
  if (text[slash] !== '\\') return begin
  let first = slash
  while (text[first - 1] === '\\') first--
  // Of two in a row the second begins nothing.
  if ((slash - first) % 2 === 1) return begin
  return Math.max(begin, slash + (text[slash + 1] === 'u' ? 6 : 2))
}
