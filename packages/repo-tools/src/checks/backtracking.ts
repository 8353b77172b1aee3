/**
 * Matches a regular expression by backtracking, as engines do, and counts every comparison of a character: engines do not report that
 * number. Supports the syntax that the sources use and throws for any other.
 */
export type Node =
  | { readonly type: 'char'; readonly fits: (code: number) => boolean; readonly sample: string }
  | { readonly type: 'edge'; readonly holds: (text: string, at: number) => boolean; readonly isStart: boolean }
  | { readonly type: 'group'; readonly options: readonly (readonly Node[])[] }
  | {
      readonly type: 'look'
      readonly ahead: boolean
      readonly wanted: boolean
      readonly options: readonly (readonly Node[])[]
    }
  | { readonly type: 'repeat'; readonly node: Node; readonly min: number; readonly max: number; readonly lazy: boolean }

const isWord = (code: number): boolean => /\w/.test(String.fromCharCode(code))
const classes: { readonly [letter: string]: (code: number) => boolean } = {
  d: (code) => code >= 48 && code <= 57,
  w: isWord,
  s: (code) => /\s/.test(String.fromCharCode(code)),
}
const escapes: { readonly [letter: string]: number } = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 }

/** Parses a pattern. */
export function parsePattern({ source, flags }: RegExp): readonly (readonly Node[])[] {
  let at = 0
  const ignoresCase = flags.includes('i')

  const fold = (code: number): number => (ignoresCase && code >= 65 && code <= 90 ? code + 32 : code)
  const fail = (): never => {
    throw new Error(`unknown syntax in /${source}/ at ${at}`)
  }

  function options(): Node[][] {
    const all: Node[][] = [[]]
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') {
        at++
        all.push([])
      } else all.at(-1)?.push(repeated(atom()))
    }
    return all
  }

  function repeated(node: Node): Node {
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})(\??)/.exec(source.slice(at))
    if (found === null) return node
    at += found[0].length
    const [, sign, low, comma, high, lazy] = found
    const min = sign === undefined ? Number(low) : sign === '+' ? 1 : 0
    const bound = comma === '' ? min : high === '' ? Number.POSITIVE_INFINITY : Number(high)
    const max = sign === undefined ? bound : sign === '?' ? 1 : Number.POSITIVE_INFINITY
    return { type: 'repeat', node, min, max, lazy: lazy === '?' }
  }

  function atom(): Node {
    const char = source[at++] as string
    if (char === '(') return group()
    if (char === '[') return set()
    if (char === '^') return { type: 'edge', isStart: true, holds: (_, place) => place === 0 }
    if (char === '$') return { type: 'edge', isStart: false, holds: (text, place) => place === text.length }
    if (char === '.') return one((code) => flags.includes('s') || (code !== 10 && code !== 13))
    if (char === '\\') {
      if (source[at] !== 'b') return one(escaped())
      at++
      const wordAt = (text: string, place: number): boolean =>
        place >= 0 && place < text.length && isWord(text.charCodeAt(place))
      return { type: 'edge', isStart: false, holds: (text, place) => wordAt(text, place) !== wordAt(text, place - 1) }
    }
    const code = char.charCodeAt(0)
    return one((other) => fold(other) === fold(code), char)
  }

  /** Parses the escape after a backslash. */
  function escaped(): (code: number) => boolean {
    const letter = source[at++] as string
    const known = classes[letter.toLowerCase()]
    if (known !== undefined) return letter === letter.toLowerCase() ? known : (code) => !known(code)
    const code = escapedCode(letter)
    return (other) => fold(other) === fold(code)
  }

  function escapedCode(letter: string): number {
    const digits = letter === 'u' ? 4 : letter === 'x' ? 2 : 0
    if (digits === 0) return escapes[letter] ?? letter.charCodeAt(0)
    at += digits
    return Number.parseInt(source.slice(at - digits, at), 16)
  }

  const one = (fits: (code: number) => boolean, sample = sampleOf(fits)): Node => ({ type: 'char', fits, sample })

  function set(): Node {
    const negated = source[at] === '^'
    if (negated) at++
    const parts: ((code: number) => boolean)[] = []
    while (source[at] !== ']') {
      const letter = source[at++] as string
      const known = letter === '\\' ? classes[(source[at] as string).toLowerCase()] : undefined
      if (known !== undefined) {
        parts.push(escaped())
        continue
      }
      const from = letter === '\\' ? escapedCode(source[at++] as string) : letter.charCodeAt(0)
      let to = from
      if (source[at] === '-' && source[at + 1] !== ']') {
        at++
        const last = source[at++] as string
        to = last === '\\' ? escapedCode(source[at++] as string) : last.charCodeAt(0)
      }
      parts.push((code) => (code >= from && code <= to) || (ignoresCase && isBetween(code ^ 32, from, to)))
    }
    at++
    return one((code) => parts.some((fits) => fits(code)) !== negated)
  }

  function group(): Node {
    const found = /^\?(?:(:)|(<?)([=!]))/.exec(source.slice(at))
    if (source[at] === '?' && found === null) fail()
    at += found?.[0].length ?? 0
    const inner = options()
    if (source[at++] !== ')') fail()
    const [, , behind, sign] = found ?? []
    return sign === undefined
      ? { type: 'group', options: inner }
      : { type: 'look', ahead: behind === '', wanted: sign === '=', options: inner }
  }

  const parsed = options()
  if (at < source.length) fail()
  return parsed
}

const isBetween = (code: number, from: number, to: number): boolean =>
  /[a-z]/i.test(String.fromCharCode(code)) && code >= from && code <= to

const samples = ['a', '1', ' ', '-', '=', '/', '.', '"', '_', 'A', '!', '\n', '\u4e00', '\ud800', '\u0001', '\u0010']
const sampleOf = (fits: (code: number) => boolean): string =>
  samples.find((char) => fits(char.charCodeAt(0))) ??
  String.fromCharCode([...Array(0x10000).keys()].find((code) => fits(code)) ?? 0)

const mostSteps = 3_000_000

/** Returns the number of comparisons of a search through the text; Infinity above some millions. `all` continues the search after a match. */
export function searchSteps(options: readonly (readonly Node[])[], text: string, all: boolean): number {
  let steps = 0

  type Next = (at: number) => boolean
  const compare = (): void => {
    if (++steps > mostSteps) throw tooMany
  }

  const anyOf = (alternatives: readonly (readonly Node[])[], at: number, next: Next): boolean =>
    alternatives.some((nodes) => inOrder(nodes, 0, at, next))
  const inOrder = (nodes: readonly Node[], index: number, at: number, next: Next): boolean => {
    const node = nodes[index]
    return node === undefined ? next(at) : match(node, at, (end) => inOrder(nodes, index + 1, end, next))
  }

  function match(node: Node, at: number, next: Next): boolean {
    switch (node.type) {
      case 'char':
        compare()
        return at < text.length && node.fits(text.charCodeAt(at)) && next(at + 1)
      case 'edge':
        return node.holds(text, at) && next(at)
      case 'group':
        return anyOf(node.options, at, next)
      case 'look':
        return look(node, at) === node.wanted && next(at)
      default:
        return node.node.type === 'char' ? repeatChar(node, at, next) : repeat(node, at, 0, next)
    }
  }

  function look(node: Extract<Node, { type: 'look' }>, at: number): boolean {
    if (node.ahead) return anyOf(node.options, at, () => true)
    // Lookbehinds in the sources have a few characters.
    for (let from = Math.max(0, at - 9); from <= at; from++)
      if (anyOf(node.options, from, (end) => end === at)) return true
    return false
  }

  /** Not recursive: long texts would overflow the stack. */
  function repeatChar({ node, min, max, lazy }: Extract<Node, { type: 'repeat' }>, at: number, next: Next): boolean {
    const fits = (place: number): boolean => {
      compare()
      return node.type === 'char' && place < text.length && node.fits(text.charCodeAt(place))
    }
    let end = at
    while (end - at < (lazy ? min : max) && fits(end)) end++
    if (end - at < min) return false
    if (!lazy) {
      for (; end >= at + min; end--) if (next(end)) return true
      return false
    }
    for (; ; end++) {
      if (next(end)) return true
      if (end - at >= max || !fits(end)) return false
    }
  }

  function repeat(node: Extract<Node, { type: 'repeat' }>, at: number, count: number, next: Next): boolean {
    const more = (): boolean =>
      count < node.max &&
      match(node.node, at, (end) => (end > at || count < node.min) && repeat(node, end, count + 1, next))
    const stop = (): boolean => count >= node.min && next(at)
    return node.lazy ? stop() || more() : more() || stop()
  }

  const isAnchored = options.every(([first]) => first?.type === 'edge' && first.isStart)
  try {
    for (let start = 0; start <= text.length; start++) {
      let end = -1
      const found = anyOf(options, start, (place) => {
        end = place
        return true
      })
      if (isAnchored || (found && !all)) break
      if (found && end > start) start = end - 1
    }
  } catch (error) {
    if (error !== tooMany) throw error
    return Number.POSITIVE_INFINITY
  }
  return steps
}

const tooMany = new Error('too many steps')

/** Creates texts of a size that could take superlinear time: each repetition of the pattern, repeated, after the text before it. */
export function attacksOn(options: readonly (readonly Node[])[]): ((size: number) => string)[] {
  const attacks: ((size: number) => string)[] = []
  const endings = ['', '\u0001', 'x', '=', '\n']

  function visit(nodes: readonly Node[], before: string): void {
    let front = before
    for (const node of nodes) {
      if (node.type === 'group' || node.type === 'look') for (const inner of node.options) visit(inner, front)
      if (node.type === 'repeat') {
        visit([node.node], front)
        const pump = sample(node.node)
        const prefix = front
        for (const end of endings)
          attacks.push(
            (size) => prefix + pump.repeat(size) + end,
            (size) => (prefix + pump).repeat(size) + end,
            (size) => pump.repeat(size) + end + pump.repeat(size),
            (size) => prefix.repeat(size) + end,
          )
      }
      front += sample(node)
    }
  }
  for (const nodes of options) visit(nodes, '')
  return attacks
}

const longest = (texts: readonly string[]): string => [...texts].sort((a, b) => b.length - a.length)[0] ?? ''

/** Returns a text that matches. */
function sample(node: Node): string {
  switch (node.type) {
    case 'char':
      return node.sample
    case 'group':
      return longest(node.options.map((nodes) => nodes.map(sample).join('')))
    case 'repeat':
      return sample(node.node).repeat(Math.max(1, Math.min(node.min, 20)))
    default:
      return ''
  }
}
