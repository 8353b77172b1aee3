import { type Json, type JsonObject, listOf, objectOf } from '../base/json.ts'
import { type Schemas, type Shape, shapesOf } from './schema.ts'
import { type Candidate, filler, hinted, type ValueRule, valuesOf } from './values.ts'

/** Facts that a valid body needs and the document lacks. */
export interface Walk {
  readonly schemas: Schemas
  /** Schema name of the whole body. */
  readonly root: string
  /** The smallest valid body. */
  readonly smallest: JsonObject
  /** Root fields that are not followed: the gateway consumes them. */
  readonly consumed: readonly string[]
  /** Values for fields whose schema is less strict than the provider. */
  readonly values: readonly ValueRule[]
  /** Fields that objects of a schema need although it does not require them. */
  readonly required: { readonly [schema: string]: JsonObject }
  /** Fields that must accompany a field in objects of a schema. */
  readonly beside: { readonly [schema: string]: { readonly [field: string]: JsonObject } }
  /** A probe in a list at the root replaces the existing entries. */
  readonly alone?: true
  /** Additions that a body needs for certain fields: a call before its result, tools to choose from. */
  readonly around: readonly { readonly at: RegExp; readonly add: (body: JsonObject) => JsonObject }[]
}

/** One field of a format with one value. */
export interface Probe extends Candidate {
  /** The field: `/messages/*[role=user]/content/*[type=image_url]/image_url/detail`. */
  readonly path: string
  /** JSON Pointer of the value in the body. */
  readonly pointer: string
  /** Field that a report must name, or the block that its only value names. */
  readonly subject: string
  readonly body: JsonObject
  /** The same body without the field, or without the enclosing block if the field is required. */
  readonly without: JsonObject
}

interface Place {
  readonly path: string
  readonly key: string
  build(value: Json): JsonObject
  readonly without: () => JsonObject
  /** The enclosing object requires the field. */
  readonly needed?: boolean
  readonly above: readonly string[]
}

/** Returns every documented field in every variant, with every enumerated value and one of each other kind. */
export function probesOf(walk: Walk): Probe[] {
  const probes: Probe[] = []
  let serial = 0
  const { schemas, smallest } = walk

  const around = (path: string, body: JsonObject): JsonObject =>
    walk.around.reduce((sofar, { at, add }) => (at.test(path) ? add(sofar) : sofar), body)

  function add(place: Place, shape: Shape): void {
    const marker: JsonObject = {}
    const pointer = locate(around(place.path, place.build(marker)), marker, '')
    if (pointer === undefined) throw new Error(`The value of ${place.path} was lost while the body was built`)
    const fresh = (): string => `Pr0be${String(++serial).padStart(7, '0')}`
    for (const candidate of hinted(walk.values, place.path, fresh) ?? valuesOf(shape, place.key, fresh))
      probes.push({
        ...candidate,
        path: place.path,
        pointer,
        subject: candidate.kind === 'presence' && place.needed === true ? parentOf(pointer) : pointer,
        body: around(place.path, place.build(candidate.value)),
        without: around(place.path, place.without()),
      })
  }

  function visit(schema: Json, place: Place): void {
    if (walk.values.some(({ at, whole }) => whole === true && at.test(place.path))) {
      add(place, anything)
      return
    }
    const shapes = shapesOf(schema, schemas)
    for (const shape of shapes) {
      const again = shape.names.some((name) => place.above.filter((one) => one === name).length > 1)
      if (again) continue
      const labelled = {
        ...place,
        path: `${place.path}${labelOf(shape, shapes)}`,
        above: [...place.above, ...shape.names],
      }
      if (shape.type === 'object' && Object.keys(shape.properties).length > 0) visitFields(shape, labelled)
      else if (shape.type === 'array' && shape.items !== undefined)
        visit(shape.items, { ...labelled, path: `${labelled.path}/*`, build: (value) => place.build([value]) })
      else if (shape.type === 'object' && shape.values !== undefined && Object.keys(shape.values).length > 0) {
        add(labelled, shape)
        visit(shape.values, {
          ...labelled,
          path: `${labelled.path}/*`,
          build: (value) => place.build({ probed: value }),
        })
      } else add(labelled, shape)
    }
  }

  function visitFields(shape: Shape, place: Place): void {
    const rest = smallestObject(shape, place)
    const name = shape.names.at(-1) ?? ''
    for (const [key, schema] of Object.entries(shape.properties)) {
      const extra = walk.beside[name]?.[key] ?? {}
      const { [key]: _, ...others } = { ...rest, ...extra }
      const needed = shape.required.includes(key)
      visit(schema, {
        path: `${place.path}/${key}`,
        key,
        above: place.above,
        needed,
        build: (value) => place.build({ ...others, [key]: value }),
        without: needed ? place.without : () => place.build(others),
      })
    }
  }

  function smallestObject(shape: Shape, place: Place): JsonObject {
    const out: JsonObject = {}
    for (const key of shape.required) {
      const schema = shape.properties[key]
      if (schema !== undefined)
        out[key] = smallestValue(schema, {
          ...place,
          path: `${place.path}/${key}`,
          key,
          above: [...place.above, ...shape.names],
        })
    }
    return { ...out, ...walk.required[shape.names.at(-1) ?? ''] }
  }

  function smallestValue(schema: Json, place: Place): Json {
    const given = hinted(walk.values, place.path, () => filler)
    if (given?.[0] !== undefined) return given[0].value
    const shapes = shapesOf(schema, schemas)
    const shape = shapes.find(({ names }) => !names.some((name) => place.above.includes(name))) ?? shapes[0] ?? anything
    if (shape.type === 'object' && (Object.keys(shape.properties).length > 0 || shape.required.length > 0))
      return smallestObject(shape, place)
    if (shape.type === 'array') {
      if (shape.items === undefined) return []
      return [
        smallestValue(shape.items, { ...place, path: `${place.path}/*`, above: [...place.above, ...shape.names] }),
      ]
    }
    return valuesOf(shape, place.key, () => filler)[0]?.value ?? null
  }

  const [root] = shapesOf({ $ref: `#/${walk.root}` }, schemas)
  if (root === undefined || Object.keys(root.properties).length === 0)
    throw new Error(`The document has no schema ${walk.root} with fields`)
  for (const [key, schema] of Object.entries(root.properties)) {
    if (walk.consumed.includes(key)) continue
    const before = smallest[key]
    const { [key]: _, ...others } = smallest
    visit(schema, {
      path: `/${key}`,
      key,
      above: [walk.root],
      build: (value) => ({
        ...others,
        [key]: walk.alone !== true && Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value,
      }),
      without: () => smallest,
    })
  }
  return probes
}

/** Removes probes that two documents of a format share. */
export function distinct(all: readonly Probe[]): readonly Probe[] {
  const probes = new Map<string, Probe>()
  for (const probe of all) {
    const key = JSON.stringify([probe.path, probe.kind === 'token' ? probe.token.length : probe.value])
    const variant = probe.kind === 'token' ? JSON.stringify(probe.value).replaceAll(probe.token, '') : ''
    if (!probes.has(key + variant)) probes.set(key + variant, probe)
  }
  return [...probes.values()]
}

const anything: Shape = {
  names: [],
  type: 'any',
  properties: {},
  required: [],
  items: undefined,
  values: undefined,
  words: undefined,
  minimum: undefined,
  maximum: undefined,
  pattern: undefined,
  format: '',
  standard: undefined,
}

/** Distinguishes a variant from the others: by its discriminating value, else by its schema or type. */
function labelOf(shape: Shape, all: readonly Shape[]): string {
  if (all.length === 1) return ''
  const name = shape.names.at(-1)
  const word = wordOf(shape)
  if (word === undefined) return `[${shape.type === 'object' && name !== undefined ? name : shape.type}]`
  return all.some((other) => other !== shape && wordOf(other) === word) ? `[${word} ${name}]` : `[${word}]`
}

function wordOf({ properties }: Shape): string | undefined {
  for (const key of ['type', 'role']) {
    const property = objectOf(properties[key])
    const word = property.const ?? listOf(property.enum)[0]
    if (typeof word === 'string') return `${key}=${word}`
  }
  return undefined
}

export const parentOf = (pointer: string): string => pointer.slice(0, pointer.lastIndexOf('/'))

function locate(value: Json, marker: JsonObject, at: string): string | undefined {
  if (value === marker) return at
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const found = locate(inner, marker, `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    if (found !== undefined) return found
  }
  return undefined
}
