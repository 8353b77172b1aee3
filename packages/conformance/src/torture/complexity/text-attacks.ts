import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Finds core's sources: next to this module, or from its bundle. */
function sourceFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'core/src/index.ts'))) {
    const above = dirname(folder)
    if (above === folder) throw new Error('the sources of the core were not found')
    folder = above
  }
  return join(folder, 'core/src')
}

/** Positions at which a regular expression may begin; elsewhere a slash divides. */
const literal =
  /(?:[=(,:[!&|?{};]|return|=>)\s*\/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])*)\/([dgimsuvy]*)/g

/** A regular expression of the core's sources. */
interface FoundRegex {
  readonly file: string
  readonly regex: RegExp
}

/** Returns every regular expression in core's sources. */
function sourceRegexes(): FoundRegex[] {
  const folder = sourceFolder()
  const known = new Set<string>()
  return (readdirSync(folder, { recursive: true }) as string[])
    .filter((file) => file.endsWith('.ts') && !/\.test(-support)?\.ts$/.test(file))
    .sort()
    .flatMap((file) => {
      const text = readFileSync(join(folder, file), 'utf8').replace(/^\s*(\/\/|\/?\*).*$/gm, '')
      return [...text.matchAll(literal)].flatMap(([, body = '', flags = '']) => {
        if (known.has(body + flags)) return []
        known.add(body + flags)
        try {
          return [{ file, regex: new RegExp(body, flags) }]
        } catch {
          return []
        }
      })
    })
}

/** Placeholder of a class that matches nearly anything; no expression of the sources contains it. */
const anything = '@@'
const wildcard = /(?:\.|@@)(?:[*+]\??|\{[^}]*\})?/

/**
 * Returns texts that begin like the expression, repeatedly, and never match: its literals, one by one and together up
 * to each place that accepts anything.
 */
function pumpsOf({ source }: RegExp): string[] {
  const plain = source
    // The first of alternatives stands for all; classes stand for a letter of theirs.
    .replace(/\\[dD]/g, '1')
    .replace(/\\[wS]/g, 'a')
    .replace(/\\s/g, ' ')
    .replace(/\\[bB]|[\^$]/g, '')
    .replace(/\[\^[^\]]*\]/g, anything)
    .replace(/\[(?:\\.|[^\]\\])*\]/g, (list) => list.replace(/^\[\\?/, '').slice(0, 1))
    .replace(/\(\?[:=!<]+/g, '(')
  // Alternatives at the outermost level and within groups each begin a separate text.
  const alternatives = plain.split(/[|()]/)
  const pumps = new Set<string>()
  for (const alternative of [plain.replace(/\|[^()]*/g, '').replace(/[()]/g, ''), ...alternatives]) {
    let whole = ''
    for (const piece of alternative.split(wildcard)) {
      const words = piece.replace(/(.)(?:[*+?]\??|\{[^}]*\}\??)/g, '$1').replace(/\\(.)/g, '$1')
      if (words.trim() !== '') pumps.add(words)
      whole += words
      if (whole.trim() !== '') pumps.add(whole)
    }
  }
  return [...pumps].filter((pump) => pump.length < 200)
}

/** Texts of any length that no expression should be slow for. */
const plainPumps: readonly string[] = [
  ' ',
  'a',
  '1',
  '\n',
  '"',
  '\\',
  '{',
  '<',
  '<a ',
  '&',
  'é',
  'a ',
  '1,',
  'https://',
  'a:',
  '/',
]

/** Parts of hostile error texts: prefixes of everything that core searches texts for. */
export const pumps: readonly string[] = [
  ...new Set([...plainPumps, ...sourceRegexes().flatMap(({ regex }) => pumpsOf(regex))]),
]
