import type { ApiRequest, JsonObject } from './format.ts'

/** Returns the fields of a form as texts, in order. Lists repeat their name with brackets, as OpenAI's SDKs send them. */
export const formFields = (body: JsonObject): readonly (readonly [name: string, value: string])[] =>
  Object.entries(body).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((item) => [`${name}[]`, fieldText(item)] as const)
      : [[name, fieldText(value)] as const],
  )

const fieldText = (value: JsonObject[string]): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Returns the body to send: a form if the request has files, otherwise JSON. */
export function bodyOf({ body, files }: ApiRequest): string | FormData {
  if (files === undefined) return JSON.stringify(body)
  const form = new FormData()
  for (const [name, value] of formFields(body)) form.append(name, value)
  for (const { field, file } of files) form.append(field, file, file.name)
  return form
}
