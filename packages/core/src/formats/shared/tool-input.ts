import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, Report, Tool, ToolCallPart } from '../ir.ts'
import { innerJson, parseJson } from './json-text.ts'
import { inWords } from './reader.ts'
import { loss } from './report.ts'
import { reportUnknown, shapeOf } from './shape.ts'
import { findTool } from './tool-names.ts'

/** The one property of the function that stands for a custom (free text) tool. */
const customProperty = 'input'

/**
 * A call's input for formats that hold it as an object. Text that is no JSON object, or one that nests too deep, is wrapped, and
 * reported.
 */
export function inputObject(
  { input, custom, name, at = '' }: Pick<ToolCallPart, 'input' | 'custom' | 'name' | 'at'>,
  report: Report,
): JsonObject {
  if (custom) return { [customProperty]: input }
  if (input.trim() === '') return {}
  const value = innerJson(input)
  if (isObject(value)) return value
  report.add(loss(at, `the input of the call of '${name}' is no JSON object; it is wrapped in one`, 'approximated'))
  return value === undefined ? { invalid_json: input } : { value }
}

export const isCustomTool = (name: string, request: ModelRequest | undefined): boolean =>
  findTool(name, request?.tools)?.type === 'custom'

/** The free text in the input of the function that stood for a custom tool; the whole input if the model strayed. */
export function customInput(input: string): string {
  const value = parseJson(input)
  const text = isObject(value) ? value[customProperty] : undefined
  return typeof text === 'string' ? text : input
}

/** The schema of the function that stands for a custom tool where there are none; reported. */
export function customSchema(tool: Tool & { type: 'custom' }, report: Report): JsonObject {
  const { name, grammar, at = '' } = tool
  const told = grammar === undefined ? '' : '; its grammar is only told, not enforced'
  report.add(loss(at, `the free-text tool '${name}' is offered as a function with one text${told}`, 'approximated'))
  if (grammar !== undefined) reportUnknown(grammar, grammarShape, at, report)
  return {
    type: 'object',
    properties: { [customProperty]: { type: 'string', description: describeText(grammar) } },
    required: [customProperty],
    additionalProperties: false,
  }
}

const grammarShape = shapeOf({ syntax: true, definition: true })

function describeText(grammar: JsonObject | undefined): string {
  if (grammar === undefined) return 'The whole input, as raw text.'
  const { syntax, definition } = grammar
  const rules = typeof definition === 'string' ? definition : inWords(grammar)
  return `The whole input, as raw text that matches this grammar (${inWords(syntax ?? 'grammar')}):\n${rules}`
}
