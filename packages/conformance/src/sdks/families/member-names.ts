import { isObject, type Json, type JsonObject } from '../../base/json.ts'

/** Members that SDKs with camel case rename. */
const names = [
  'tool_calls',
  'tool_call_id',
  'image_url',
  'response_format',
  'json_schema',
  'finish_reason',
  'prompt_tokens',
  'completion_tokens',
  'tool_plan',
] as const

/** Their values are the user's. */
const foreign: ReadonlySet<string> = new Set(['parameters', 'schema', 'arguments'])

const camelCaseOf = new Map<string, string>(
  names.map((name) => [name, name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]),
)
const snakeCaseOf = new Map([...camelCaseOf].map(([snake, camel]) => [camel, snake]))

function renamed(value: unknown, nameOf: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value)) return value.map((item) => renamed(item, nameOf))
  if (!isObject(value)) return value as Json
  const out: JsonObject = {}
  for (const [key, member] of Object.entries(value))
    if (member !== undefined) out[nameOf.get(key) ?? key] = foreign.has(key) ? member : renamed(member, nameOf)
  return out
}

/** Returns a request in the names of an SDK with camel case. */
export const camelCased = (request: JsonObject): JsonObject => renamed(request, camelCaseOf) as JsonObject

/** Returns a response of such an SDK in the names of the API. */
export const snakeCased = (response: unknown): Json => renamed(response, snakeCaseOf)
