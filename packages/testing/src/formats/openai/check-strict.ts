import type { Json, JsonObject } from '../../base/json.ts'
import { isObject, listOf } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { fault } from './check-fields.ts'

/** A schema in strict mode, with the position for the error message. */
export interface StrictSchema {
  readonly schema: Json | undefined
  /** `function 'f'` or `response_format 'answer'`. */
  readonly whose: string
  readonly param: string
  readonly code: string | undefined
}

/** Returns OpenAI's error about a strict schema, or undefined. */
export function checkStrict({ schema, whose, param, code }: StrictSchema): WireError | undefined {
  const words = isObject(schema) ? faultOf(schema, []) : undefined
  return words === undefined ? undefined : fault(`Invalid schema for ${whose}: ${words}`, param, code)
}

function faultOf(schema: JsonObject, context: readonly string[]): string | undefined {
  const place = `In context=(${context.map((word) => `'${word}'`).join(', ')}${context.length === 1 ? ',' : ''})`
  const properties = isObject(schema.properties) ? schema.properties : undefined
  if (schema.type === 'object' || properties) {
    if (schema.additionalProperties !== false) {
      return `${place}, 'additionalProperties' is required to be supplied and to be false.`
    }
    const required = listOf(schema.required)
    const left = Object.keys(properties ?? {}).find((name) => !required.includes(name))
    if (left !== undefined) {
      return `${place}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`
    }
  }
  for (const word of ['properties', '$defs', 'definitions']) {
    for (const [name, inner] of Object.entries(isObject(schema[word]) ? schema[word] : {})) {
      const found = isObject(inner) ? faultOf(inner, [...context, word, name]) : undefined
      if (found !== undefined) return found
    }
  }
  for (const word of ['items', 'anyOf']) {
    for (const [index, inner] of [schema[word]].flat().entries()) {
      const step = word === 'items' ? [word] : [word, String(index)]
      const found = isObject(inner) ? faultOf(inner, [...context, ...step]) : undefined
      if (found !== undefined) return found
    }
  }
  return undefined
}
