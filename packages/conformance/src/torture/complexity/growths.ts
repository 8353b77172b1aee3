import { isObject, type Json } from '../../base/json.ts'
import type { Growth, Place } from './places.ts'
import { shapeOf } from './places.ts'

/** Default maximum of values and names in a request, less some for the rest of the body (`limits.values`). */
const mostValues = 330_000

/** Relations between the names of repeated elements. */
const namings: Readonly<Record<string, (name: string, at: number) => string>> = {
  'equal names': (name) => name,
  'distinct names': (name, at) => `${name}${at.toString(36)}`,
  // Letters that no provider allows in ids or names: after replacement, all names are equal.
  'names equal once cleaned': (_, at) => String.fromCharCode(0x4e00 + (at & 0xfff), 0x4e00 + (at >> 12)),
  'names equal once cut': (name, at) => `${name}${'x'.repeat(64)}${at.toString(36)}`,
}

const naming = /(^|_)(id|name|title|filename|label|uri|url|key)$|[a-z](Id|Name|Uri|Url|Title|Label)$/
const numbering = /(^|_|[a-z])(index|Index|number)$/

/** Returns the names in an element and the depth of its index numbers. */
function namesIn(
  value: Json,
  found = { names: new Set<string>(), levels: new Set<number>() },
  level = 0,
): typeof found {
  if (Array.isArray(value)) for (const item of value) namesIn(item, found, level + 1)
  else if (isObject(value))
    for (const [key, member] of Object.entries(value)) {
      if (typeof member === 'string' && naming.test(key)) found.names.add(member)
      else if (typeof member === 'number' && numbering.test(key)) found.levels.add(level)
      else namesIn(member, found, level + 1)
    }
  return found
}

/** Returns the element with its names and numbers replaced. */
function renamed(
  value: Json,
  rename: (name: string) => string,
  renumber: (number: number, level: number) => number,
  level = 0,
): Json {
  if (typeof value === 'string') return rename(value)
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename, renumber, level + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      typeof member === 'number' && numbering.test(key)
        ? renumber(member, level)
        : renamed(member, rename, renumber, level + 1),
    ]),
  )
}

/** Counts values and names in JSON like `limits.values`. */
function countValues(value: Json): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countValues(item), 1)
  if (!isObject(value)) return 1
  return Object.values(value).reduce((sum: number, member) => sum + 1 + countValues(member), 1)
}

/** Returns as many pieces as fit, at least one. */
function repeat(bytes: number, values: number, piece: (at: number) => string, separator = ','): string {
  const pieces = [piece(0)]
  let size = pieces[0]?.length ?? 0
  for (let at = 1; size < bytes && at * values < mostValues; at++) {
    const next = piece(at)
    size += Buffer.byteLength(next) + separator.length
    pieces.push(next)
  }
  return pieces.join(separator)
}

/** A repeated element, and its text at each position. */
export interface Repetition {
  readonly name: string
  /** Values and names of one repetition. */
  readonly values: number
  items(at: number): readonly Json[]
}

/** A position after the end of every text: code that counts up to it reads the whole text. */
const farNumber = 100_000_000

/** Returns a repeated element with each relation of its names and numbers; elements without both in one way only. */
export function repetitions(items: readonly Json[]): readonly Repetition[] {
  const list = [...items]
  const values = countValues(list)
  const plain = list.every((item) => typeof item === 'string')
  const { names, levels } = plain ? { names: new Set(list as string[]), levels: new Set<number>() } : namesIn(list)
  if (names.size === 0 && levels.size === 0) return [{ name: 'repeated', values, items: () => list }]
  const repeatedWith = (
    name: string,
    rename: (name: string, at: number) => string,
    renumber: (number: number, level: number, at: number) => number,
  ): Repetition => ({
    name: `repeated with ${name}`,
    values,
    items: (at) =>
      list.map((item) =>
        renamed(
          item,
          (text) => (names.has(text) ? rename(text, at) : text),
          (number, level) => renumber(number, level, at),
        ),
      ),
  })
  const next = (number: number, at: number): number => number + at * list.length
  const innermost = Math.max(...levels) - 1
  const distinct = namings['distinct names'] as (name: string, at: number) => string
  return [
    ...Object.entries(namings).map(([name, rename]) =>
      repeatedWith(name, rename, (number, _, at) => (name === 'equal names' ? number : next(number, at))),
    ),
    ...(levels.size > 1
      ? [
          repeatedWith('distinct innermost numbers', distinct, (number, level, at) =>
            level === innermost ? next(number, at) : number,
          ),
        ]
      : []),
    ...(levels.size > 0
      ? [repeatedWith('far numbers', distinct, (number, _, at) => (number === 0 ? 0 : farNumber + at))]
      : []),
  ]
}

/** A named way to grow a place. */
export interface NamedGrowth extends Growth {
  readonly name: string
}

const elementsOf = (items: readonly Json[]): string => items.map((item) => JSON.stringify(item)).join(',')

/** Nested as deep as a body may be, less its surroundings. */
const nest = (open: string, close: string): string => `${open.repeat(90)}${close.repeat(90)}`
const deepList = nest('[', ']')
const deepMap = `${'{"a":'.repeat(90)}0${'}'.repeat(90)}`

function growList(place: Place): NamedGrowth[] {
  const items = place.value as readonly Json[]
  const shapes = new Map(items.map((item) => [shapeOf(item), item]))
  const groups: (readonly Json[])[] = [...shapes.values()].map((item) => [item])
  if (items.length > 1) groups.push(items)
  const grow = (name: string, values: number, piece: (at: number) => string): NamedGrowth => ({
    place,
    name: `${place.label || '/'} ${name}`,
    write: (bytes) => repeat(bytes, values, piece),
  })
  return [
    ...groups.flatMap((group) =>
      repetitions(group).map(({ name, values, items }) =>
        grow(`[${group.map(shapeOf).join(' ')}] ${name}`, values, (at) => elementsOf(items(at))),
      ),
    ),
    grow('many empty objects', 1, () => '{}'),
    grow('many deep lists', 90, () => deepList),
  ]
}

/** Keys of members that are added to an object. */
const keys: Readonly<Record<string, (at: number) => string>> = {
  'distinct keys': (at) => `key_${at.toString(36)}`,
  'keys that are numbers': (at) => `${at}`,
  'keys that pointers escape': (at) => `~/%~1%41${at.toString(36)}`,
}

function growMap(place: Place): NamedGrowth[] {
  const members = Object.entries(place.value as { [key: string]: Json })
  const grow = (name: string, values: number, piece: (at: number) => string): NamedGrowth => ({
    place,
    name: `${place.label || '/'} ${name}`,
    write: (bytes) => repeat(bytes, values, piece),
  })
  // At the root, each member separately: the gateway reads and replaces some of them in the text.
  const again = place.label === '' ? members : members.slice(0, 1)
  return [
    ...Object.entries(keys).map(([name, key]) => grow(name, 2, (at) => `${JSON.stringify(key(at))}:"v"`)),
    grow('deep members', 180, (at) => `"key_${at.toString(36)}":${deepMap}`),
    ...again.map(([key, value]) => {
      const text = `${JSON.stringify(key)}:${JSON.stringify(value)}`
      return grow(`'${key}' repeated`, 1 + countValues(value), () => text)
    }),
  ]
}

/** Fillings of a text, as JSON writes them. */
const fillings: Readonly<Record<string, string>> = {
  letters: 'a',
  'two-byte letters': 'é',
  spaces: ' ',
  'line ends': '\\n',
  quotes: '\\"',
  backslashes: '\\\\',
  'open braces': '{\\"a\\":',
  'open brackets': '[',
  'closed objects': '{}',
  'percent signs': '%41',
  'slashes and dots': '/../',
  digits: '1',
  commas: ', ',
  'data URLs': 'data:image/png;base64,',
  'angle brackets': '<a><',
  'lone surrogates': '\\ud800',
}

function growText(place: Place): NamedGrowth[] {
  return Object.entries(fillings).map(([name, filling]) => ({
    place,
    name: `${place.label} ${name}`,
    write: (bytes) => filling.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(filling)))),
  }))
}

/** Returns every way to grow a place, except a schema, whose attacks are handwritten. */
export function growthsOf(place: Place): NamedGrowth[] {
  switch (place.kind) {
    case 'list':
      return growList(place)
    case 'map':
      return growMap(place)
    case 'text':
      return growText(place)
    case 'schema':
      return []
  }
}
