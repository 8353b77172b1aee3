import type { Json, JsonObject } from '../../base/json/types.ts'

const joint = /(?<=[A-Za-z0-9])_([a-z0-9])/g
const camel = (key: string): string =>
  key.includes('_') ? key.replace(joint, (_, letter: string) => letter.toUpperCase()) : key

/**
 * Google's servers read every field in camelCase and in snake_case, and clients write both. A copy of the object in
 * camelCase, to be taken apart. This object's keys only: what lies deeper may be the user's own data.
 */
export const respell = (source: JsonObject): JsonObject => (isCamel(source) ? { ...source } : toCamel(source))

function isCamel(source: JsonObject): boolean {
  for (const key in source) if (key.includes('_')) return false
  return true
}

function toCamel(source: JsonObject): JsonObject {
  const fields: [string, Json][] = []
  for (const key of Object.keys(source)) {
    const name = camel(key)
    if (name === key || source[name] === undefined) fields.push([name, source[key] ?? null])
  }
  // Assigned, a field of the name `__proto__` would bring all that is in it.
  return Object.fromEntries(fields)
}

/** As `respell`, but the object itself where it is spelt so already: for the chunks of a stream. */
export const respelled = (source: JsonObject): JsonObject => (isCamel(source) ? source : toCamel(source))

/** The client's own spelling of a field, for pointers into its body. */
export function spelt(source: JsonObject, name: string): string {
  if (source[name] !== undefined) return name
  for (const key of Object.keys(source)) if (camel(key) === name) return key
  return name
}

/** The collection of all models: a body names the model of its path with or without it. */
export const modelPrefix = 'models/'
