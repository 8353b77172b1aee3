import type { Json } from '../../base/json.ts'
import { growthsOf, type NamedGrowth } from './growths.ts'
import { growingText, type Place, placesOf } from './places.ts'
import { schemaAttacks } from './schema-attacks.ts'

/** A document that grows in one or two places. */
export interface Attack {
  readonly name: string
  readonly kind: Place['kind'] | 'pair'
  /** Returns the document as JSON of about this many bytes. */
  write(bytes: number): string
}

const attackOf = (root: Json, kind: Attack['kind'], ...growths: readonly NamedGrowth[]): Attack => {
  // Split lazily, because documents with two growing places are expensive to split.
  let write: ((bytes: number) => string) | undefined
  return {
    name: growths.map(({ name }) => name).join(' × '),
    kind,
    write(bytes) {
      write ??= growingText(root, growths)
      return write(bytes)
    },
  }
}

/** Texts of responses and conversations: other places refer to positions and passages in them. */
const isContent = ({ kind, label }: Place): boolean =>
  kind === 'text' && /(^|\/)(text|content|arguments|input|thinking|delta|partial_json|transcript|message)$/.test(label)

/** Returns the growths of a place that represent it in pairs: distinct elements, or multi-byte letters. */
function representatives(place: Place): NamedGrowth[] {
  const growths = growthsOf(place)
  if (place.kind === 'text') return growths.filter(({ name }) => name.endsWith('two-byte letters'))
  const [distinct = growths[0]] = growths.filter(({ name }) => name.endsWith('distinct names')).slice(-1)
  const far = growths.filter(({ name }) => name.endsWith('far numbers')).slice(-1)
  return distinct === undefined ? far : [distinct, ...far]
}

/**
 * Returns every attack on a document: each place grown in every way, each schema replaced by every hostile one, and
 * each list grown together with each other list and with each text of content.
 */
export function attacksOn(root: Json): Attack[] {
  const places = placesOf(root)
  const single = places.flatMap((place) =>
    place.kind === 'schema'
      ? schemaAttacks.map(({ name, write }) =>
          attackOf(root, 'schema', { place, name: `${place.label} schema: ${name}`, write }),
        )
      : growthsOf(place).map((growth) => attackOf(root, place.kind, growth)),
  )
  const lists = places.filter(({ kind }) => kind === 'list')
  const pairs = lists.flatMap((list, at) =>
    [...lists.slice(at + 1), ...places.filter(isContent)].flatMap((other) => {
      const [there] = representatives(other)
      if (there === undefined) return []
      const here = representatives(list)
      // Numbers of distant positions refer to texts.
      return (other.kind === 'text' ? here : here.slice(0, 1)).map((growth) => attackOf(root, 'pair', growth, there))
    }),
  )
  return unique([...single, ...pairs])
}

/** Attacks places of one label once: the first of two equal elements represents both. */
export function unique<T extends { readonly name: string }>(attacks: readonly T[]): T[] {
  const byName = new Map<string, T>()
  for (const attack of attacks) if (!byName.has(attack.name)) byName.set(attack.name, attack)
  return [...byName.values()]
}

/** An upload that grows in one place. */
export interface FormAttack {
  readonly name: string
  write(bytes: number): string
}

export const formBoundary = 'boundary-of-the-upload'

const field = (name: string, value: string): string =>
  `--${formBoundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string, filename: string, content: string, head = ''): string =>
  `--${formBoundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: image/png\r\n${head}\r\n${content}\r\n`
const end = `--${formBoundary}--\r\n`

const fill = (bytes: number, piece: string): string => piece.repeat(Math.max(1, Math.floor(bytes / piece.length)))
const each = (bytes: number, piece: (at: number) => string): string => {
  let text = ''
  for (let at = 0; text.length < bytes; at++) text += piece(at)
  return text
}

/** Returns every way in which an upload with these fields and this file can grow. */
export function formAttacks(fields: Readonly<Record<string, string>>, fileField: string): FormAttack[] {
  const plain = Object.entries(fields)
    .map(([name, value]) => field(name, value))
    .join('')
  const content = file(fileField, 'a.png', 'bytes')
  const withMore = (more: string): string => plain + more + content + end
  const attacks: Record<string, (bytes: number) => string> = {
    'many fields of one name': (bytes) => withMore(fill(bytes, field('x', ''))),
    'many fields': (bytes) => withMore(each(bytes, (at) => field(`x${at}`, ''))),
    'many files': (bytes) => withMore(each(bytes, (at) => file(fileField, `${at}.png`, ''))),
    'a long field': (bytes) => withMore(field('x', fill(bytes, 'a'))),
    'a long name': (bytes) => withMore(field(fill(bytes, 'a'), '')),
    'a long file name': (bytes) => withMore(file('x', fill(bytes, 'é"\\'), '')),
    'a long head': (bytes) => withMore(file('x', 'x', '', `X-A: ${fill(bytes, 'a;')}\r\n`)),
    'many heads': (bytes) =>
      withMore(
        file(
          'x',
          'x',
          '',
          each(bytes, (at) => `X-${at}: a\r\n`),
        ),
      ),
    'parameters of the head': (bytes) => withMore(file('x', `x"; ${fill(bytes, 'a="b"; ')}b="c`, '')),
    'a file of line ends': (bytes) => withMore(file('x', 'x', fill(bytes, '\r\n'))),
    'a file of dashes': (bytes) => withMore(file('x', 'x', fill(bytes, '-'))),
    'a file of beginnings of the boundary': (bytes) =>
      withMore(file('x', 'x', fill(bytes, `\r\n--${formBoundary.slice(0, -1)}`))),
    'a file of boundaries without line ends': (bytes) => withMore(file('x', 'x', fill(bytes, `--${formBoundary}`))),
    'text before it': (bytes) => fill(bytes, 'a\r\n--') + withMore(''),
    'text after it': (bytes) => withMore('') + fill(bytes, `--${formBoundary}`),
  }
  for (const name of Object.keys(fields))
    for (const [filling, piece] of [
      ['letters', 'a'],
      ['brackets', '['],
      ['commas', ', '],
    ] as const)
      attacks[`field ${name} of ${filling}`] = (bytes) => content + field(name, fill(bytes, piece)) + withMore('')
  return Object.entries(attacks).map(([name, write]) => ({ name, write }))
}
