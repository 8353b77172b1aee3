import type { Json, JsonObject } from '../base/json.ts'
import type { FormPart } from '../contract/request.ts'

/** Names of form fields that are not strings. */
export interface FieldTypes {
  readonly numbers?: readonly string[]
  readonly booleans?: readonly string[]
}

const decoder = new TextDecoder()

/** Returns a form's plain fields as JSON: `include[]` is a list, numbers are numbers. Files are left out. */
export function formFields(form: readonly FormPart[], { numbers = [], booleans = [] }: FieldTypes): JsonObject {
  const fields: Record<string, Json> = {}
  for (const { name, filename, bytes } of form) {
    if (filename !== undefined) continue
    const text = decoder.decode(bytes)
    const list = /^(.+)\[\d*\]$/.exec(name)?.[1]
    if (list === undefined) fields[name] = typedValue(text, numbers.includes(name), booleans.includes(name))
    else {
      const known = fields[list]
      fields[list] = [...(Array.isArray(known) ? known : []), text]
    }
  }
  return fields
}

/** Returns the files of one field, which may be a list (`image[]`). */
export const formFiles = (form: readonly FormPart[] | undefined, field: string): FormPart[] =>
  (form ?? []).filter(({ name, filename }) => filename !== undefined && name.replace(/\[\d*\]$/, '') === field)

function typedValue(text: string, isNumber: boolean, isBoolean: boolean): Json {
  // An invalid number stays text, so that the type check reports it.
  if (isNumber) return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
  if (isBoolean && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}
