import { parseJson } from '../base/json.ts'
import type { Fault, Script } from '../contract/script.ts'

/** One `[[name:value key:value]]` in the user's text. */
export interface Directive {
  readonly name: string
  /** Text after the first colon, up to the next `key:value`. */
  readonly value: string
  readonly options: Readonly<Record<string, string>>
}

const names = new Set([
  'say',
  'words',
  'think',
  'redacted',
  'tool',
  'tools',
  'refuse',
  'finish',
  'status',
  'error-event',
  'refuse-connection',
  'reset',
  'stall',
  'delay',
  'slow',
  'cut',
  'cut-event',
  'garbage',
  'content-length',
  'endless-line',
  'html',
  'empty',
])

/** Extracts the directives of a text and returns the text without them. Unknown names stay text. */
export function readDirectives(text: string): { directives: Directive[]; rest: string } {
  const directives: Directive[] = []
  let rest = ''
  let position = 0
  for (;;) {
    const open = text.indexOf('[[', position)
    if (open < 0) break
    const found = directiveAt(text, open)
    rest += text.slice(position, found ? open : open + 2)
    position = found ? found.end : open + 2
    if (found) directives.push(found.directive)
  }
  return { directives, rest: (rest + text.slice(position)).trim() }
}

function directiveAt(text: string, open: number): { directive: Directive; end: number } | undefined {
  const head = /^\[\[([a-z-]+)/.exec(text.slice(open, open + 40))
  const name = head?.[1]
  if (name === undefined || !names.has(name)) return undefined
  const start = open + 2 + name.length
  let close = text.indexOf(']]', start)
  if (name === 'tool') {
    // The input itself may contain `]]`: the first close that leaves valid JSON counts.
    const first = close
    while (close >= 0 && !toolOf(text.slice(start, close))) close = text.indexOf(']]', close + 1)
    if (close < 0) close = first
  }
  if (close < 0) return undefined
  const end = close + 2
  const inner = text.slice(start, close)
  if (name === 'tool') {
    const tool = toolOf(inner)
    return tool && { directive: { name, value: tool.name, options: { input: tool.input } }, end }
  }
  // The text of `say` is free: a colon in it starts no option.
  if (name === 'say') return { directive: { name, value: inner.replace(/^:/, ''), options: {} }, end }
  const options: Record<string, string> = {}
  const value: string[] = []
  for (const word of inner.replace(/^:/, '').split(/\s+/)) {
    const option = /^([a-z-]+):(.+)$/.exec(word)
    if (option?.[1] !== undefined && option[2] !== undefined) options[option[1]] = option[2]
    else if (word !== '') value.push(word)
  }
  return { directive: { name, value: value.join(' '), options }, end }
}

function toolOf(inner: string): { name: string; input: string } | undefined {
  const match = /^:\s*([A-Za-z0-9_-]+)\s*([\s\S]*)$/.exec(inner)
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  const input = match[2].trim()
  return input === '' || parseJson(input) !== undefined ? { name: match[1], input } : undefined
}

/** Parses a whole number of a directive, with a default. */
export function directiveNumber(text: string | undefined, otherwise: number): number {
  const number = text === undefined || text === '' ? Number.NaN : Number(text)
  return Number.isFinite(number) && number >= 0 ? number : otherwise
}

const faultFactories: Readonly<Record<string, (directive: Directive) => Fault>> = {
  'refuse-connection': () => ({ type: 'refuse' }),
  reset: (directive) => ({ type: 'reset', ...after(directive) }),
  stall: (directive) => ({ type: 'stall', ...after(directive) }),
  delay: ({ value }) => ({ type: 'delay', ms: directiveNumber(value, 1000) }),
  slow: ({ value }) => ({ type: 'slow', ms: directiveNumber(value, 200) }),
  cut: (directive) => ({ type: 'cut', after: after(directive).after ?? 4 }),
  'cut-event': (directive) => ({ type: 'cut-event', after: after(directive).after ?? 4 }),
  garbage: (directive) => ({ type: 'garbage', after: after(directive).after ?? 2 }),
  'error-event': (directive) => ({
    type: 'error-event',
    after: after(directive).after ?? 3,
    ...(directive.value === '' ? {} : { error: directive.value }),
  }),
  'content-length': ({ value }) => ({ type: 'content-length', by: directiveNumber(value, 100) }),
  'endless-line': (directive) => ({
    type: 'endless-line',
    ...after(directive),
    ...(directive.options.bytes === undefined ? {} : { bytes: directiveNumber(directive.options.bytes, 1_000_000) }),
  }),
  html: () => ({ type: 'html' }),
  empty: () => ({ type: 'empty' }),
}

const after = (directive: Directive): { after?: number } =>
  directive.options.after === undefined ? {} : { after: directiveNumber(directive.options.after, 0) }

/** Returns the faults that directives request. */
const faultsOf = (directives: readonly Directive[]): Fault[] =>
  directives.flatMap((directive) => faultFactories[directive.name]?.(directive) ?? [])

/** Returns the delivery settings of directives, without the response's content. */
export function directiveSettings(directives: readonly Directive[]): Script {
  const status = directives.find(({ name }) => name === 'status')
  const finish = directives.find(({ name }) => name === 'finish')
  const fault = faultsOf(directives)
  const retryAfter = status?.options['retry-after']
  return {
    ...(finish ? { finish: finish.value } : {}),
    ...(status ? { status: directiveNumber(status.value, 500) } : {}),
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
    ...(fault.length > 0 ? { fault } : {}),
  }
}
