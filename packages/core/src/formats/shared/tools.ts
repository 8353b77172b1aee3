import { isObject, type JsonObject } from '../../base/json/json.ts'
import { parseInnerJson, parseJson } from '../../base/json/parse.ts'
import type { ModelRequest, Report, Tool, ToolCallPart, ToolChoice } from '../ir.ts'
import { toText } from './json-fields.ts'
import { loss, reportUnknown, shapeOf } from './report.ts'

/** The only property of the function that replaces a custom (free text) tool. */
const customProperty = 'input'

/** Returns a call's input as an object. Text that is not a JSON object, or nests too deep, is wrapped and reported. */
export function inputObject(
  { input, custom, name, at = '' }: Pick<ToolCallPart, 'input' | 'custom' | 'name' | 'at'>,
  report: Report,
): JsonObject {
  if (custom) return { [customProperty]: input }
  if (input.trim() === '') return {}
  const value = parseInnerJson(input)
  if (isObject(value)) return value
  report.add(loss(at, `the input of the call of '${name}' is not a JSON object; it is wrapped in one`, 'approximated'))
  return value === undefined ? { invalid_json: input } : { value }
}

export const isCustomTool = (name: string, request: ModelRequest | undefined): boolean =>
  findTool(name, request?.tools)?.type === 'custom'

/** Returns the free text from the input of the function that replaced a custom tool; the whole input if it has another form. */
export function customInput(input: string): string {
  const value = parseJson(input)
  const text = isObject(value) ? value[customProperty] : undefined
  return typeof text === 'string' ? text : input
}

/** Creates the schema of the function that replaces a custom tool, and reports the replacement. */
export function customSchema(tool: Tool & { type: 'custom' }, report: Report): JsonObject {
  const { name, grammar, at = '' } = tool
  const grammarNote = grammar === undefined ? '' : '; its grammar is in the description, not enforced'
  report.add(
    loss(
      at,
      `the free-text tool '${name}' is sent as a function with one string parameter${grammarNote}`,
      'approximated',
    ),
  )
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
  const rules = typeof definition === 'string' ? definition : toText(grammar)
  return `The whole input, as raw text that matches this grammar (${toText(syntax ?? 'grammar')}):\n${rules}`
}

/**
 * Returns the allowed tools, for formats without a list of allowed tools. Leaving out the others has the same effect. Each of them is
 * reported.
 */
export function offeredTools(
  list: readonly Tool[],
  choice: ToolChoice & { readonly allowed: readonly string[] },
  report: Report,
): Tool[] {
  const allowed = new Set(choice.allowed)
  return list.filter((tool) => {
    const isOffered = tool.type === 'native' || allowed.has(tool.name)
    if (!isOffered)
      report.add(
        loss(tool.at ?? '/tools', `the tool '${tool.name}' is not allowed and not sent`, 'unsupported', 'note'),
      )
    return isOffered
  })
}

/** Describes the result of a tool search as text, for models without tool references. The tools are offered with the others. */
export const describeFoundTools = (names: readonly string[]): string =>
  names.length === 0 ? 'No tools found.' : `Tools found, ready to be called: ${names.join(', ')}`

/** Returns the name of a native tool: its name, its type, or its only field (`{ googleSearch: {} }`). */
export const nativeToolName = (value: JsonObject): string => toText(value.name ?? value.type ?? Object.keys(value)[0])

const byList = new WeakMap<readonly Tool[], ReadonlyMap<string, Tool>>()

/** Returns the tool with this name. The index of each list is built once. */
export function findTool(name: string, tools: ModelRequest['tools']): Tool | undefined {
  if (tools === undefined) return undefined
  let names = byList.get(tools.list)
  if (names === undefined) {
    names = new Map(tools.list.flatMap((tool) => (tool.type === 'native' ? [] : [[tool.name, tool]])))
    byList.set(tools.list, names)
  }
  return names.get(name)
}
