import type { CodecContext } from '../codec.ts'
import type { JsonObject, ModelRequest, ToolCallPart } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { loss } from '../shared/report.ts'
import { keepsNumbers, parseJson } from './json-text.ts'

/** The one property of the function that stands for a custom (free text) tool. */
export const customProperty = 'input'

/** A call's input as the object that `args` is. Text that is no JSON object is wrapped, and reported. */
export function argsOf(part: ToolCallPart, context: CodecContext): JsonObject {
  const { input, custom, name, at = '' } = part
  if (custom) return { [customProperty]: input }
  if (input.trim() === '') return {}
  const value = parseJson(input)
  if (value !== undefined && !keepsNumbers(input, value))
    context.report.add(
      loss(at, `a number in the input of the call of '${name}' is too long to be kept exactly`, 'approximated'),
    )
  if (isObject(value)) return value
  const detail = `the input of the call of '${name}' is no JSON object; it is wrapped in one`
  context.report.add(loss(at, detail, 'approximated'))
  return value === undefined ? { invalid_json: input } : { value }
}

export const isCustomTool = (name: string, request: ModelRequest | undefined): boolean =>
  request?.tools?.list.some((tool) => tool.type === 'custom' && tool.name === name) ?? false

/** The free text in the input of the function that stood for a custom tool; the whole input if the model strayed. */
export function customInput(args: JsonObject): string {
  const text = args[customProperty]
  return typeof text === 'string' ? text : JSON.stringify(args)
}
