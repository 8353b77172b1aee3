import type { CodecContext } from '../codec.ts'
import type { Json, JsonObject, ModelRequest, ToolCallPart } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { loss } from '../shared/report.ts'

/** The one property of the function that stands for a custom (free text) tool. */
export const customProperty = 'input'

/** A call's input as the object that messages wants. Text that is no JSON object is wrapped, and reported. */
export function readInput(
  part: Pick<ToolCallPart, 'input' | 'custom' | 'name' | 'at'>,
  context: CodecContext,
): JsonObject {
  const { input, custom } = part
  if (custom) return { [customProperty]: input }
  if (input.trim() === '') return {}
  const value = parse(input)
  if (isObject(value)) return value
  context.report.add(
    loss(
      part.at ?? '',
      `the input of the call of '${part.name}' is no JSON object; it is wrapped in one`,
      'approximated',
    ),
  )
  return value === undefined ? { invalid_json: input } : { value }
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

export const isCustomTool = (name: string, request: ModelRequest): boolean =>
  request.tools?.list.some((tool) => tool.type === 'custom' && tool.name === name) ?? false

/** The free text in the input of the function that stood for a custom tool; the whole input if the model strayed. */
export function customInput(input: string): string {
  const value = parse(input)
  if (!isObject(value)) return input
  const text = value[customProperty]
  return typeof text === 'string' ? text : input
}
