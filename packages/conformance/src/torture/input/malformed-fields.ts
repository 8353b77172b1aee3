/** A fault in a good body, and the field that the error must name. */
export interface Fault {
  readonly name: string
  /** Name of the top-level field in the dialect. */
  readonly param: string
  apply(body: Record<string, unknown>): Record<string, unknown>
}

/** Type of a field, from which invalid values follow. A voice is a string or an object. */
type Kind = 'text' | 'number' | 'integer' | 'boolean' | 'list' | 'object' | 'texts' | 'voice'

/** A field of an endpoint: its type, its bounds, and its own invalid values. */
export interface Field {
  readonly at: string
  readonly kind: Kind
  readonly required?: true
  readonly min?: number
  readonly max?: number
  readonly also?: readonly unknown[]
}

const wrongOf: Readonly<Record<Kind, readonly unknown[]>> = {
  text: [5, true, {}, []],
  number: ['warm', true, {}, [0.5]],
  integer: ['three', 1.5, {}, [3]],
  boolean: ['yes', 1, {}, []],
  list: [5, true, {}],
  object: [5, true, [1]],
  texts: [5, {}, [5], [{}]],
  voice: [5, true, [], ['a']],
}

/** Represents a missing field. */
const absent = Symbol('absent')

const written = (value: unknown): string => (value === absent ? 'missing' : JSON.stringify(value))

function put(body: Record<string, unknown>, at: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(body)
  const steps = at.split('.')
  const last = steps.pop() as string
  let place = copy as Record<string, unknown>
  for (const step of steps) place = place[step] as Record<string, unknown>
  if (value === absent) delete place[last]
  else place[last] = value
  return copy
}

/** Returns every fault of the fields, in rotation over the fields, so that the first faults cover all of them. */
export function faultsOf(fields: readonly Field[]): readonly Fault[] {
  const columns = fields.map(({ kind, required, min, max, also = [] }) => [
    ...also,
    ...(required ? [absent, null] : []),
    ...(min === undefined ? [] : [min - 1]),
    ...(max === undefined ? [] : [max + 1]),
    ...wrongOf[kind],
  ])
  const faults: Fault[] = []
  for (let row = 0; row < Math.max(...columns.map(({ length }) => length)); row++)
    fields.forEach(({ at }, place) => {
      const column = columns[place] ?? []
      if (row >= column.length) return
      const value = column[row]
      faults.push({
        name: `${at} ${written(value)}`,
        param: at.split('.', 1)[0] as string,
        apply: (body) => put(body, at, value),
      })
    })
  return faults
}
