import { isObject, type Json, type JsonObject, parseJson } from '../../base/json.ts'

/** A position in a JSON document whose value can grow. */
export interface Place {
  readonly kind: 'list' | 'map' | 'text' | 'schema'
  /**
   * Without list positions, so that equal places of two documents have the same label:
   * `/messages/*[role=user]/content`.
   */
  readonly label: string
  readonly steps: readonly Step[]
  readonly value: Json
}

/** A member's name, a list position, or the step into JSON that a text contains (tool arguments). */
type Step = string | number | typeof embedded
const embedded = Symbol('the JSON within the text')

/** Describes how an object differs from its neighbours in a list: its type or role, else its first member. */
export function shapeOf(value: Json | undefined): string {
  if (!isObject(value)) return Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value
  for (const key of ['type', 'role']) if (typeof value[key] === 'string') return `${key}=${value[key]}`
  return Object.keys(value)[0] ?? 'empty'
}

const isSchema = (value: JsonObject): boolean => /^object$/i.test(String(value.type)) && isObject(value.properties)

/** Returns every place of the document, including its root. */
export function placesOf(root: Json): Place[] {
  const found: Place[] = []
  const visit = (value: Json, label: string, steps: readonly Step[]): void => {
    if (Array.isArray(value)) {
      found.push({ kind: 'list', label, steps, value })
      value.forEach((item, at) => {
        visit(item, `${label}/*[${shapeOf(item)}]`, [...steps, at])
      })
    } else if (isObject(value)) {
      found.push({ kind: 'map', label, steps, value })
      if (isSchema(value)) found.push({ kind: 'schema', label, steps, value })
      // Strictness decides how a schema is handled.
      const strictness = value.strict === true ? '(strict)' : ''
      for (const [key, member] of Object.entries(value)) visit(member, `${label}${strictness}/${key}`, [...steps, key])
    } else if (typeof value === 'string') {
      found.push({ kind: 'text', label, steps, value })
      const inner = value.startsWith('{') ? parseJson(value) : undefined
      if (inner !== undefined) visit(inner, `${label}(JSON)`, [...steps, embedded])
    }
  }
  visit(root, '', [])
  return found
}

/** Returns the document with another value in a place. */
function replaceAt(root: Json, [step, ...rest]: readonly Step[], change: (value: Json) => Json): Json {
  if (step === undefined) return change(root)
  if (step === embedded) return JSON.stringify(replaceAt(parseJson(String(root)) ?? null, rest, change))
  if (Array.isArray(root)) return root.map((item, at) => (at === step ? replaceAt(item, rest, change) : item))
  const object = root as JsonObject
  return { ...object, [step]: replaceAt(object[step as string] ?? null, rest, change) }
}

/** Grows a place. */
export interface Growth {
  readonly place: Place
  /**
   * Returns the text for the place: further elements of a list, further members of a map, further characters of a text
   * as JSON, or a whole schema.
   */
  write(bytes: number): string
}

/** Escapes a text for another JSON text. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Returns a document with places that grow together, each by its share of the bytes. */
export function growingText(root: Json, growths: readonly Growth[]): (bytes: number) => string {
  const markers = growths.map((_, at) => `@@grows${at}@@`)
  let marked = root
  growths.forEach(({ place }, at) => {
    marked = replaceAt(marked, place.steps, (value) => withMarker(place.kind, value, markers[at] as string))
  })
  const text = JSON.stringify(marked)
  const cuts = growths
    .map((growth, at) => {
      const levels = growth.place.steps.filter((step) => step === embedded).length
      let hole = holeOf(growth.place.kind, markers[at] as string)
      for (let level = 0; level < levels; level++) hole = escaped(hole)
      return { growth, levels, hole, at: text.indexOf(hole) }
    })
    .sort((a, b) => a.at - b.at)
  return (bytes) => {
    const share = Math.max(1, Math.floor((bytes - text.length) / growths.length))
    let out = ''
    let from = 0
    for (const { growth, levels, hole, at } of cuts) {
      let grown = growth.write(share)
      for (let level = 0; level < levels; level++) grown = escaped(grown)
      out += text.slice(from, at) + grown
      from = at + hole.length
    }
    return out + text.slice(from)
  }
}

function withMarker(kind: Place['kind'], value: Json, marker: string): Json {
  if (kind === 'list') return [...(value as Json[]), marker]
  if (kind === 'map') return { ...(value as JsonObject), [marker]: 0 }
  if (kind === 'schema') return marker
  // In the middle, so that the surroundings (a URL's scheme, the braces of arguments) keep their meaning.
  const text = value as string
  const middle = text.startsWith('data:') ? text.length : Math.floor(text.length / 2)
  return text.slice(0, middle) + marker + text.slice(middle)
}

const holeOf = (kind: Place['kind'], marker: string): string =>
  kind === 'text' ? marker : kind === 'map' ? `"${marker}":0` : `"${marker}"`
