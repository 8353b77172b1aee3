import type { JsonObject, Settings } from '../formats/format.ts'
import { objectOf, textOf } from '../formats/read.ts'

export type Tools = Settings['tools']

export const exampleTools = JSON.stringify(
  [
    {
      name: 'get_weather',
      description: 'Current weather in a city',
      schema: {
        type: 'object',
        properties: { city: { type: 'string', description: 'Name of the city, such as Rome' } },
        required: ['city'],
      },
    },
  ],
  null,
  2,
)

const anything: JsonObject = { type: 'object', properties: {} }

/** Parses tools from text: a list of names, descriptions and JSON schemas. Returns the error of an invalid one. */
export function readTools(text: string): { readonly tools: Tools } | { readonly wrong: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { wrong: `Invalid JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
  if (!Array.isArray(value)) return { wrong: 'Expected a list: [{ "name": …, "description": …, "schema": … }]' }
  const tools = value.map((item) => {
    const { name, description, schema } = objectOf(item)
    return {
      name: textOf(name),
      description: textOf(description),
      schema: schema === undefined ? anything : objectOf(schema),
    }
  })
  const nameless = tools.findIndex(({ name }) => name === '')
  return nameless < 0 ? { tools } : { wrong: `Tool ${nameless + 1} has no "name".` }
}
