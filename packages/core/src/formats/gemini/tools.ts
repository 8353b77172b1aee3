import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Tool, ToolChoice } from '../ir.ts'
import {
  drop,
  dropNulls,
  leftover,
  putBack,
  take,
  takeArray,
  takeObject,
  takeString,
  type Unread,
} from '../shared/json-fields.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { customSchema, nativeToolName } from '../shared/tools.ts'
import { fieldPointers, reportCache } from './fields.ts'
import { fromOpenApi, lowerToGoogle, lowerTypes, toOpenApi } from './schema-lowering.ts'
import { copyInCamelCase, spellingOf } from './spelling.ts'

type Tools = NonNullable<ModelRequest['tools']>

/** Decodes `tools` and the choice in `toolConfig`, and leaves other members of `toolConfig` in `fields`. */
export function decodeTools(fields: Unread, body: JsonObject): Tools | undefined {
  const place = `/${spellingOf(body, 'tools')}`
  const wire = fields.tools
  drop(fields, 'tools')
  const list = Array.isArray(wire) ? wire : isObject(wire) ? [wire] : undefined
  const choice = decodeChoice(fields)
  if (list === undefined && choice === undefined) return undefined
  const tools: Tools = {
    list: (list ?? []).flatMap((tool, index) => decodeTool(tool, Array.isArray(wire) ? pointer(place, index) : place)),
  }
  put(tools, 'choice', choice)
  return tools
}

/** Decodes an entry of the list, which holds any number of functions and Google's server-side tools. */
function decodeTool(source: Json, at: string): Tool[] {
  if (!isObject(source)) return [{ type: 'native', format: 'gemini', value: { value: source }, at }]
  const fields = copyInCamelCase(source)
  const place = pointer(at, spellingOf(source, 'functionDeclarations'))
  const functions = (takeArray(fields, 'functionDeclarations') ?? []).flatMap((item, index) =>
    isObject(item) ? [decodeFunction(item, pointer(place, index))] : [],
  )
  const own = Object.entries(leftover(fields) ?? {}).map(
    ([key, value]): Tool => ({
      type: 'native',
      format: 'gemini',
      value: { [key]: value },
      at: pointer(at, spellingOf(source, key)),
    }),
  )
  return [...functions, ...own]
}

function decodeFunction(source: JsonObject, at: string): Tool {
  const fields = copyInCamelCase(source)
  const tool: Tool = { type: 'function', name: takeString(fields, 'name') ?? '', at }
  put(tool, 'description', takeString(fields, 'description'))
  const schema = takeObject(fields, 'parametersJsonSchema')
  if (schema !== undefined) tool.schema = lowerTypes(schema)
  else {
    const subset = takeObject(fields, 'parameters')
    if (subset !== undefined) tool.schema = fromOpenApi(subset)
  }
  dropNulls(fields)
  const rest = leftover(fields)
  if (rest !== undefined) tool.extra = { gemini: rest }
  return tool
}

const isStrings = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

function decodeChoice(fields: Unread): ToolChoice | undefined {
  const config = takeObject(fields, 'toolConfig')
  if (config === undefined) return undefined
  const outer = copyInCamelCase(config)
  const calling = takeObject(outer, 'functionCallingConfig')
  let choice: ToolChoice | undefined
  if (calling !== undefined) {
    const inner = copyInCamelCase(calling)
    const mode = typeof inner.mode === 'string' ? inner.mode.toUpperCase() : ''
    const names = take(inner, 'allowedFunctionNames', isStrings)
    choice = choiceOf(mode, names)
    if (choice === undefined) {
      if (names !== undefined) putBack(inner, 'allowedFunctionNames', names)
    } else if (mode === 'VALIDATED')
      inner.mode = mode // this mode also enforces the schemas of calls
    else drop(inner, 'mode')
    const rest = leftover(inner)
    if (rest !== undefined) putBack(outer, 'functionCallingConfig', rest)
  }
  const rest = leftover(outer)
  if (rest !== undefined) putBack(fields, 'toolConfig', rest)
  return choice
}

function choiceOf(mode: string, names: string[] | undefined): ToolChoice | undefined {
  const [only, second] = names ?? []
  switch (mode) {
    case 'NONE':
      return 'none'
    case 'ANY':
      if (names === undefined || only === undefined) return 'required'
      return second === undefined ? { name: only } : { allowed: names, mode: 'required' }
    case 'AUTO':
    case 'VALIDATED':
      return names === undefined || only === undefined ? 'auto' : { allowed: names, mode: 'auto' }
    default:
      return undefined
  }
}

/** Writes `tools` and `toolConfig` to `out`. */
export function encodeTools(tools: Tools, out: JsonObject, request: ModelRequest, context: CodecContext): void {
  const { list, choice, parallel, ...rest } = tools
  rest satisfies Nothing
  const isOwn = isWrittenIn(request, fieldPointers)
  const functions: JsonObject[] = []
  const wire: JsonObject[] = []
  for (const tool of list) {
    const encoded = encodeTool(tool, isOwn, context)
    if (encoded === undefined) continue
    if (tool.type === 'native') wire.push(encoded)
    else {
      if (functions.length === 0) wire.push({ functionDeclarations: functions })
      functions.push(encoded)
    }
  }
  if (wire.length > 0) out.tools = wire
  if (parallel === false)
    context.report.add(
      loss(
        fieldPointer('tools.parallel', request.at, undefined),
        'parallel calls cannot be disabled in generateContent',
      ),
    )
  if (choice !== undefined) encodeChoice(choice, wire.length > 0, out, request, context)
}

function encodeTool(tool: Tool, isOwn: boolean, context: CodecContext): JsonObject | undefined {
  const at = tool.at ?? ''
  const { report } = context
  const own = ownExtra(tool.extra, 'gemini', at, report)
  if (tool.cache !== undefined) reportCache(tool, context)
  switch (tool.type) {
    case 'function': {
      const {
        type: _,
        name,
        description,
        schema,
        strict,
        at: _at,
        cache: _cache,
        extra: _extra,
        deferred: _deferred,
        ...rest
      } = tool
      rest satisfies Nothing
      const out: JsonObject = { ...own, name }
      put(out, 'description', description)
      if (schema !== undefined) writeSchema(schema, out, 'parameters', 'parametersJsonSchema', at, isOwn, context)
      if (strict)
        report.add(
          loss(
            pointer(at, 'strict'),
            'generateContent cannot enforce the schema of a single tool',
            'unsupported',
            'note',
          ),
        )
      return out
    }
    case 'custom': {
      const {
        type: _,
        name,
        description,
        grammar: _grammar,
        at: _at,
        cache: _cache,
        extra: _extra,
        deferred: _deferred,
        ...rest
      } = tool
      rest satisfies Nothing
      const out: JsonObject = { ...own, name }
      put(out, 'description', description)
      const { additionalProperties: _open, ...schema } = customSchema(tool, report)
      put(out, 'parameters', toOpenApi(schema))
      return out
    }
    case 'native': {
      const { type: _, format, value, at: _at, cache: _cache, extra: _extra, deferred: _deferred, ...rest } = tool
      rest satisfies Nothing
      if (format === 'gemini') return value
      report.add(loss(at, `the tool '${nativeToolName(value)}' has no counterpart in generateContent`))
      return undefined
    }
    default:
      return tool satisfies never
  }
}

/**
 * Writes a schema in the dialect that preserves its meaning; see schema-lowering.ts.
 *
 * @param isOwn the client wrote the schema in this format, so it needs no lowering
 */
export function writeSchema(
  schema: JsonObject,
  out: JsonObject,
  subsetKey: string,
  fullKey: string,
  at: string,
  isOwn: boolean,
  context: CodecContext,
): void {
  const lowered = isOwn ? { schema, unenforced: [] } : lowerToGoogle(schema, at)
  const subset = toOpenApi(lowered.schema)
  if (subset !== undefined) {
    out[subsetKey] = subset
    return
  }
  out[fullKey] = lowered.schema
  if (lowered.unenforced.length > 0)
    context.report.add(
      loss(
        at,
        `parts of the schema are sent but not enforced: ${lowered.unenforced.join(', ')}`,
        'approximated',
        'note',
      ),
    )
}

function encodeChoice(
  choice: ToolChoice,
  offered: boolean,
  out: JsonObject,
  request: ModelRequest,
  context: CodecContext,
): void {
  const at = fieldPointer('tools.choice', request.at, undefined)
  const config = isObject(out.toolConfig) ? out.toolConfig : {}
  const kept = isObject(config.functionCallingConfig) ? config.functionCallingConfig : {}
  const forced = choice === 'required' || (typeof choice === 'object' && !('mode' in choice && choice.mode === 'auto'))
  if (!offered && request.tools?.list.length !== 0) {
    if (forced) context.report.add(loss(at, 'no tool is left to choose'))
    if (forced || choice === 'auto') return
  }
  const calling: JsonObject = { ...kept }
  if (choice === 'auto') calling.mode = kept.mode ?? 'AUTO'
  else if (choice === 'none') calling.mode = 'NONE'
  else if (choice === 'required') calling.mode = 'ANY'
  else if ('name' in choice) Object.assign(calling, { mode: 'ANY', allowedFunctionNames: [choice.name] })
  else {
    // Only ANY and VALIDATED accept names. VALIDATED lets the model decide whether to call a function.
    if (choice.mode === 'auto' && kept.mode === undefined)
      context.report.add(loss(at, "the allowed tools are sent with the mode 'VALIDATED'", 'approximated', 'note'))
    Object.assign(calling, {
      mode: choice.mode === 'auto' ? 'VALIDATED' : 'ANY',
      allowedFunctionNames: choice.allowed,
    })
  }
  out.toolConfig = { ...config, functionCallingConfig: calling }
}
