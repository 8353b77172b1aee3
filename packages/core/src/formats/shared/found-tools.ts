import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'

/** The result of a tool search as text, for models that do not know such results. The tools are offered with the others. */
export const describeFound = (names: readonly string[]): string =>
  names.length === 0 ? 'No tools found.' : `Tools found, ready to be called: ${names.join(', ')}`

/** Whether a text's field holds the blocks that the text names, for their own format. */
export const areReferences = (value: Json | undefined): value is JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => isObject(item) && item.type === 'tool_reference')
