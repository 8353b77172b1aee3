import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { pointer } from './pointer.ts'

/** The documented defaults of a format's request, by JSON Pointer; `*` stands for any place in a list. */
export interface RequestDefaults {
  readonly [pointer: string]: Json
}

/** Whether the body's value at the path is the default there, or an object of nothing but defaults. */
export function standsOnDefault(path: string, body: JsonObject, defaults: RequestDefaults): boolean {
  let value: Json | undefined = body
  for (const step of path.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return false
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    value = Array.isArray(value) ? value[Number(key)] : Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value !== undefined && isDefault(path.replace(/\/\d+(?=\/|$)/g, '/*'), value, defaults)
}

function isDefault(at: string, value: Json, defaults: RequestDefaults): boolean {
  if (Object.hasOwn(defaults, at)) return JSON.stringify(defaults[at]) === JSON.stringify(value)
  if (!isObject(value)) return false
  const members = Object.entries(value)
  return members.length > 0 && members.every(([key, inner]) => isDefault(pointer(at, key), inner, defaults))
}
