import type { Json, JsonObject } from '../../base/json.ts'
import { asList, isObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { fieldError } from './check-fields.ts'

/** A schema in strict mode, with the position for the error message. */
export interface StrictSchema {
  readonly schema: Json | undefined
  /** `function 'f'` or `response_format 'answer'`. */
  readonly owner: string
  readonly param: string
  readonly code: string | undefined
}

/** Returns OpenAI's error about a strict schema, or undefined. */
export function checkStrict({ schema, owner, param, code }: StrictSchema): WireError | undefined {
  const words = isObject(schema) ? strictError(schema, []) : undefined
  return words === undefined ? undefined : fieldError(`Invalid schema for ${owner}: ${words}`, param, code)
}

function strictError(schema: JsonObject, context: readonly string[]): string | undefined {
  const place = `In context=(${context.map((word) => `'${word}'`).join(', ')}${context.length === 1 ? ',' : ''})`
  const properties = isObject(schema.properties) ? schema.properties : undefined
  if (schema.type === 'object' || properties) {
    if (schema.additionalProperties !== false) {
      return `${place}, 'additionalProperties' is required to be supplied and to be false.`
    }
    const required = asList(schema.required)
    const left = Object.keys(properties ?? {}).find((name) => !required.includes(name))
    if (left !== undefined) {
      return `${place}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`
    }
  }
  for (const word of ['properties', '$defs', 'definitions']) {
    for (const [name, inner] of Object.entries(isObject(schema[word]) ? schema[word] : {})) {
      const found = isObject(inner) ? strictError(inner, [...context, word, name]) : undefined
      if (found !== undefined) return found
    }
  }
  for (const word of ['items', 'anyOf']) {
    for (const [index, inner] of [schema[word]].flat().entries()) {
      const step = word === 'items' ? [word] : [word, String(index)]
      const found = isObject(inner) ? strictError(inner, [...context, ...step]) : undefined
      if (found !== undefined) return found
    }
  }
  return undefined
}
