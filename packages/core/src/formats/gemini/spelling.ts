import type { Json, JsonObject } from '../../base/json/json.ts'

const underscore = /(?<=[A-Za-z0-9])_([a-z0-9])/g
const camel = (key: string): string =>
  key.includes('_') ? key.replace(underscore, (_, letter: string) => letter.toUpperCase()) : key

/**
 * Returns a copy of an object with its keys in camelCase. Google's servers accept camelCase and snake_case, and clients write
 * both. Only the object's own keys change: deeper levels may hold user data.
 */
export const copyInCamelCase = (source: JsonObject): JsonObject => (isCamel(source) ? { ...source } : toCamel(source))

function isCamel(source: JsonObject): boolean {
  for (const key in source) if (key.includes('_')) return false
  return true
}

function toCamel(source: JsonObject): JsonObject {
  const fields: [string, Json][] = []
  for (const key of Object.keys(source)) {
    const name = camel(key)
    if (name === key || !Object.hasOwn(source, name) || source[name] === undefined)
      fields.push([name, source[key] ?? null])
  }
  // Assigning `__proto__` would set the prototype.
  return Object.fromEntries(fields)
}

/** Returns the object itself if its keys are in camelCase, else a copy. Saves copies for the chunks of a stream. */
export const inCamelCase = (source: JsonObject): JsonObject => (isCamel(source) ? source : toCamel(source))

/** Returns the client's spelling of a field, for JSON Pointers into its body. */
export function spellingOf(source: JsonObject, name: string): string {
  if (source[name] !== undefined) return name
  for (const key of Object.keys(source)) if (camel(key) === name) return key
  return name
}

/** The collection of all models: bodies name a model with or without it. */
export const modelPrefix = 'models/'
