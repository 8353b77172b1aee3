import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Report } from '../ir.ts'
import { pointer } from './pointer.ts'
import { reportField } from './report.ts'

/** The members that an object may have. `true`: a decoder reads the value, or keeps or reports what it does not read of it. */
export type Shape = ReadonlyMap<string, true | Shape>

/** A shape as it is written down. An inner shape stands for an object, or for each entry of a list. */
export interface Members {
  readonly [member: string]: true | Members
}

/** Names that a sender chose are looked up in it: a map has no inherited ones. */
export const shapeOf = (members: Members): Shape =>
  new Map(Object.entries(members).map(([name, inner]) => [name, inner === true ? true : shapeOf(inner)]))

export const shapesOf = (shapes: { readonly [kind: string]: Members }): ReadonlyMap<string, Shape> =>
  new Map(Object.entries(shapes).map(([kind, members]) => [kind, shapeOf(members)]))

/**
 * Reports the members that a shape does not name. Whole answers are read field by field, and what is left is kept
 * (`Unread`). Parts of a stream are told before their last event: what only a later event says cannot join them any more, and is
 * reported here. Events that `TextMould` reads never come here.
 *
 * @param at where the object stands in the whole answer
 */
export function reportUnknown(value: JsonObject, shape: Shape, at: string, report: Report): void {
  for (const key in value) {
    const known = shape.get(key)
    if (known === true) continue
    const inner = value[key]
    if (!saysSomething(inner)) continue
    if (known === undefined) reportField(key, at, report)
    else if (isObject(inner)) reportUnknown(inner, known, pointer(at, key), report)
    else if (Array.isArray(inner)) reportEntries(inner, known, pointer(at, key), report)
    else reportField(key, at, report)
  }
}

function reportEntries(list: readonly Json[], shape: Shape, at: string, report: Report): void {
  for (const [index, entry] of objectsIn(list, at, report).entries())
    reportUnknown(entry, shape, pointer(at, index), report)
}

/** The entries of a list that are objects. Others, which no decoder reads, are reported. */
export function objectsIn(list: readonly Json[], at: string, report: Report): JsonObject[] {
  if (list.every(isObject)) return list as JsonObject[]
  for (const [index, entry] of list.entries())
    if (!isObject(entry) && saysSomething(entry)) reportField(String(index), at, report)
  return list.filter(isObject)
}

/** Nulls, empty texts, empty lists and empty objects are how servers write "none". */
function saysSomething(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return false
  if (Array.isArray(value)) return value.length > 0
  if (!isObject(value)) return true
  for (const _ in value) return true
  return false
}
