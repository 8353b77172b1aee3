import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, Report, Tool, ToolCallPart, ToolChoice } from '../ir.ts'
import { toText } from './json-fields.ts'
import { parseInnerJson, parseJson } from './json-text.ts'
import { loss, reportUnknown, shapeOf } from './report.ts'

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
  const value = parseInnerJson(input)
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
  const rules = typeof definition === 'string' ? definition : toText(grammar)
  return `The whole input, as raw text that matches this grammar (${toText(syntax ?? 'grammar')}):\n${rules}`
}

/**
 * The tools that a model may choose from, for formats without a list of allowed tools: the others are not offered, which comes to the
 * same. Each of them is reported.
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
        loss(tool.at ?? '/tools', `the tool '${tool.name}' is not allowed, and not offered`, 'unsupported', 'note'),
      )
    return isOffered
  })
}

/** The result of a tool search as text, for models that do not know such results. The tools are offered with the others. */
export const describeFoundTools = (names: readonly string[]): string =>
  names.length === 0 ? 'No tools found.' : `Tools found, ready to be called: ${names.join(', ')}`

/** What a tool of the format's own is called: its name, its type, or the one field that stands for it (`{ googleSearch: {} }`). */
export const nativeToolName = (value: JsonObject): string => toText(value.name ?? value.type ?? Object.keys(value)[0])

const byList = new WeakMap<readonly Tool[], ReadonlyMap<string, Tool>>()

/** The tool of this name, if the request has one. Every call asks, so the names of a list are gone through only once. */
export function findTool(name: string, tools: ModelRequest['tools']): Tool | undefined {
  if (tools === undefined) return undefined
  let names = byList.get(tools.list)
  if (names === undefined) {
    names = new Map(tools.list.flatMap((tool) => (tool.type === 'native' ? [] : [[tool.name, tool]])))
    byList.set(tools.list, names)
  }
  return names.get(name)
}
