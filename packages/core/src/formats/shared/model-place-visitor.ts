import { GatewayError } from '../../base/errors.ts'
import { codeAt, isSpace, type JsonSource, type Member, sourceText } from '../../base/json/scan.ts'
import { foldName, type PlaceNode } from './model-places.ts'

/** What is asked about each place that a request uses. Both throw a GatewayError to refuse the request. */
export interface PlaceVisitor {
  /** A member that holds a model's name. */
  name(name: string, path: string): void
  /** A member that chooses a model without naming it. */
  choice(path: string): void
}

/** Lists within lists, and parts within parts like them: no client nests them deeper, and each level takes a stack frame. */
const maxLevels = 64

const quote = 34
const backslash = 92
const openBrace = 123
const closeBrace = 125
const openBracket = 91
const closeBracket = 93
const comma = 44

/**
 * Visits the declared places of a JSON object, in one pass and without a value as large as the text: only members on the way to a place are
 * entered. The text is read instead of its parsed value because a member given twice, or in another case, is lost in the value and is
 * read by some upstreams.
 *
 * @param source valid JSON
 * @param members of its top-level object
 * @throws GatewayError `invalid_request` for a duplicate or another spelling of a member that leads to a place
 */
export function visitPlaces(
  source: JsonSource,
  members: readonly Member[],
  root: PlaceNode,
  visitor: PlaceVisitor,
): void {
  const walk = new Walk(source, visitor)
  const seen = new Set<string>()
  for (const { key, start } of members) {
    const node = enter(root, key, seen, '')
    if (node !== undefined) walk.value(start, node, node.spellings[0] ?? key, 0)
  }
}

/** The same for any JSON value. */
export function visitValue(text: string, root: PlaceNode, visitor: PlaceVisitor): void {
  new Walk(text, visitor).value(text.search(/[^ \t\n\r]/), root, '', 0)
}

/** The declared member of that name. Throws for a duplicate, and for a name that only a tolerant parser reads as the declared one. */
export function enter(parent: PlaceNode, key: string, seen: Set<string>, path: string): PlaceNode | undefined {
  const folded = foldName(key)
  const node = parent.members.get(folded)
  if (node === undefined) return undefined
  if (!node.spellings.includes(key)) throw otherSpelling(path + key, path + (node.spellings[0] ?? ''))
  if (seen.has(folded)) throw duplicate(path + key)
  seen.add(folded)
  return node
}

export const duplicate = (path: string): GatewayError =>
  new GatewayError('invalid_request', `Duplicate member '${path}': send it once.`, { param: path })

export const otherSpelling = (path: string, wanted: string): GatewayError =>
  new GatewayError('invalid_request', `Unknown member '${path.slice(0, 200)}': use '${wanted}'.`, {
    param: path.slice(0, 200),
  })

/** Asks about a value at a place, as JSON. */
function visitScalar(text: string, { role, harmless }: PlaceNode, path: string, visitor: PlaceVisitor): void {
  if (role === undefined || text === 'null') return
  const value: unknown = JSON.parse(text)
  if (role === 'name') visitor.name(String(value), path)
  else if (typeof value !== 'string' || !harmless.includes(value)) visitor.choice(path)
}

/** The same for the text of a form's field. */
export function visitText(text: string, { role, harmless }: PlaceNode, path: string, visitor: PlaceVisitor): void {
  if (role === 'name') visitor.name(text, path)
  else if (role === 'choice' && !harmless.includes(text)) visitor.choice(path)
}

class Walk {
  readonly #source: JsonSource
  readonly #visitor: PlaceVisitor

  constructor(source: JsonSource, visitor: PlaceVisitor) {
    this.#source = source
    this.#visitor = visitor
  }

  /** Visits the value that begins at `start`; returns the place after it. */
  value(start: number, node: PlaceNode, path: string, level: number): number {
    if (level > maxLevels)
      throw new GatewayError('invalid_request', `'${path.slice(0, 100)}' nests deeper than ${maxLevels} levels.`)
    const code = codeAt(this.#source, start)
    if (code === openBrace) return this.#object(start, node, path, level)
    if (code === openBracket) return this.#list(start, node, path, level)
    const end = this.#skip(start)
    visitScalar(sourceText(this.#source, start, end), node, path, this.#visitor)
    return end
  }

  #list(start: number, node: PlaceNode, path: string, level: number): number {
    let at = this.#space(start + 1)
    for (let index = 0; codeAt(this.#source, at) !== closeBracket; index++) {
      const code = codeAt(this.#source, at)
      // A name in a list is reported by the list's own path, as clients know it.
      const itemPath = code === openBrace || code === openBracket ? `${path}[${index}]` : path
      at = this.#space(this.value(at, node, itemPath, level + 1))
      if (codeAt(this.#source, at) === comma) at = this.#space(at + 1)
    }
    return at + 1
  }

  #object(start: number, node: PlaceNode, path: string, level: number): number {
    if (node.role === 'choice') this.#visitor.choice(path)
    const seen = new Set<string>()
    let named = false
    let at = this.#space(start + 1)
    while (codeAt(this.#source, at) === quote) {
      const keyEnd = this.#stringEnd(at)
      const key = JSON.parse(sourceText(this.#source, at, keyEnd)) as string
      const valueStart = this.#space(this.#space(keyEnd) + 1)
      const before = path === '' ? '' : `${path}.`
      const next = enter(node.role === 'name' ? objectWithName : node, key, seen, before)
      named ||= next !== undefined
      at = this.#space(
        next === undefined ? this.#skip(valueStart) : this.value(valueStart, next, before + key, level + 1),
      )
      if (codeAt(this.#source, at) === comma) at = this.#space(at + 1)
    }
    // A router that maps models to models, for one, names them in its keys.
    if (node.role === 'name' && !named) this.#visitor.choice(path)
    return at + 1
  }

  /** The place after the value that begins there. */
  #skip(start: number): number {
    const source = this.#source
    let depth = 0
    for (let at = start; at < source.length; at++) {
      const code = codeAt(source, at)
      if (code === quote) {
        at = this.#stringEnd(at) - 1
        if (depth === 0) return at + 1
      } else if (code === openBrace || code === openBracket) depth++
      else if (code === closeBrace || code === closeBracket) {
        if (depth === 0) return this.#spaceBefore(at)
        if (--depth === 0) return at + 1
      } else if (code === comma && depth === 0) return this.#spaceBefore(at)
    }
    return source.length
  }

  /** The place after the closing quote of the string that opens at `open`. */
  #stringEnd(open: number): number {
    const source = this.#source
    for (let at = open + 1; ; ) {
      const close = typeof source === 'string' ? source.indexOf('"', at) : source.indexOf(quote, at)
      if (close < 0) return source.length
      let first = close
      while (first > at && codeAt(source, first - 1) === backslash) first--
      if ((close - first) % 2 === 0) return close + 1
      at = close + 1
    }
  }

  #space(from: number): number {
    let at = from
    while (isSpace(codeAt(this.#source, at))) at++
    return at
  }

  #spaceBefore(to: number): number {
    let at = to
    while (isSpace(codeAt(this.#source, at - 1))) at--
    return at
  }
}

/** Where a name may be an object: its one member that counts. */
const objectWithName: PlaceNode = {
  spellings: [],
  role: undefined,
  harmless: [],
  members: new Map([[foldName('model'), { spellings: ['model'], members: new Map(), role: 'name', harmless: [] }]]),
}
