import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Usage } from '../../formats/ir.ts'

const count = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0

const part = (object: JsonObject, name: string): JsonObject => {
  const value = object[name]
  return isObject(value) ? value : {}
}

/** The usage in a `response.done`; undefined if it says none. */
export function usageOfResponse(event: JsonObject): Usage | undefined {
  const usage = part(event, 'response').usage
  if (!isObject(usage)) return undefined
  const input = part(usage, 'input_token_details')
  const output = part(usage, 'output_token_details')
  return {
    input: {
      total: count(usage.input_tokens),
      cacheRead: count(input.cached_tokens),
      audio: count(input.audio_tokens),
      image: count(input.image_tokens),
    },
    output: {
      total: count(usage.output_tokens),
      reasoning: count(output.reasoning_tokens),
      audio: count(output.audio_tokens),
    },
  }
}

/** What a session has used with one more response. */
export const addUsage = (sum: Usage | undefined, next: Usage): Usage => ({
  input: added(sum?.input, next.input),
  output: added(sum?.output, next.output),
})

function added<T extends { total: number }>(sum: T | undefined, next: T): T {
  if (sum === undefined) return { ...next }
  const both = { ...sum } as Record<string, number>
  for (const [name, value] of Object.entries(next)) both[name] = (both[name] ?? 0) + value
  return both as T
}
