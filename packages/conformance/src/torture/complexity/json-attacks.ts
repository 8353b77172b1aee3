import type { Json } from '../../base/json.ts'
import { growthsOf, type NamedGrowth } from './growths.ts'
import { growingText, type Place, placesOf } from './places.ts'
import { schemaAttacks } from './schema-attacks.ts'

/** A document that grows in one place or in two. */
export interface Attack {
  readonly name: string
  readonly kind: Place['kind'] | 'pair'
  /** The document as JSON, of about that many bytes. */
  write(bytes: number): string
}

const attackOf = (root: Json, kind: Attack['kind'], ...growths: readonly NamedGrowth[]): Attack => {
  // Documents with two holes take time to cut: only those that are sent are cut.
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

/** Texts that answers and conversations are made of: other places refer to positions and passages in them. */
const isContent = ({ kind, label }: Place): boolean =>
  kind === 'text' && /(^|\/)(text|content|arguments|input|thinking|delta|partial_json|transcript|message)$/.test(label)

/** The growths of a place that stand for it in pairs: elements that can be told apart, or letters that are more than a byte. */
function representatives(place: Place): NamedGrowth[] {
  const growths = growthsOf(place)
  if (place.kind === 'text') return growths.filter(({ name }) => name.endsWith('two-byte letters'))
  const [distinct = growths[0]] = growths.filter(({ name }) => name.endsWith('distinct names')).slice(-1)
  const far = growths.filter(({ name }) => name.endsWith('far numbers')).slice(-1)
  return distinct === undefined ? far : [distinct, ...far]
}

/**
 * Every attack on one document: each place grown in every way, each schema replaced by every hostile one, and each list grown
 * together with each other list and with each text of content.
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
      // Numbers that point far away point into texts.
      return (other.kind === 'text' ? here : here.slice(0, 1)).map((growth) => attackOf(root, 'pair', growth, there))
    }),
  )
  return unique([...single, ...pairs])
}

/** Places of one label are attacked once: the first of two equal elements stands for both. */
export function unique<T extends { readonly name: string }>(attacks: readonly T[]): T[] {
  const byName = new Map<string, T>()
  for (const attack of attacks) if (!byName.has(attack.name)) byName.set(attack.name, attack)
  return [...byName.values()]
}
