import { put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Tool } from '../ir.ts'
import { enforceTool } from '../messages/models.ts'
import { pointer } from '../shared/pointers.ts'
import { fieldPointer, loss, ownExtra } from '../shared/report.ts'
import { customSchema, nativeToolName, offeredTools } from '../shared/tools.ts'
import type { ConverseTraits } from './models.ts'
import { cachePoint } from './request-encode-turns.ts'

/** `toolConfig`, and whether a call is forced. */
export interface EncodedTools {
  readonly config?: JsonObject
  readonly forced: boolean
}

/**
 * Tools and choice. Bedrock wants tools to be declared wherever the conversation holds calls, and has no word for "none".
 *
 * @param called the tools that earlier answers called
 */
export function encodeTools(
  { tools, at }: ModelRequest,
  called: ReadonlySet<string>,
  traits: ConverseTraits,
  context: CodecContext,
): EncodedTools {
  const { list = [], choice, parallel, ...rest } = tools ?? {}
  rest satisfies Nothing
  const { report } = context
  const tell = (field: string, detail: string, ...more: [kind?: 'approximated', severity?: 'note']): void =>
    report.add(loss(fieldPointer(field, at, undefined), detail, ...more))
  let offered = list
  let wanted: 'auto' | 'none' | 'required' | { name: string } | undefined
  if (typeof choice === 'object' && 'allowed' in choice) {
    offered = offeredTools(list, choice, report)
    wanted = choice.mode
    tell('tools.choice', 'only the allowed tools are offered', 'approximated', 'note')
  } else wanted = choice
  if (parallel === false && wanted !== 'none' && list.length > 0)
    tell('tools.parallel', 'Converse does not keep a model from calling several tools at once')

  if (wanted === 'none' && called.size === 0) {
    if (list.length > 0)
      tell('tools.choice', 'Converse has no word for it: the tools are not offered', 'approximated', 'note')
    return { forced: false }
  }
  const wire = offered.flatMap((tool) => encodeTool(tool, traits, context))
  if (wire.length === 0) {
    if (wanted === 'required' || typeof wanted === 'object')
      tell('tools.choice', 'no tool is left that could be chosen')
    if (called.size === 0) return { forced: false }
    tell('tools', 'Bedrock wants the tools of earlier calls declared: the model may call them again', 'approximated')
    return { config: { tools: [...called].map(undescribed) }, forced: false }
  }
  if (wanted === 'none')
    tell('tools.choice', 'Bedrock wants the tools of earlier calls declared: the model may call them', 'approximated')
  const config: JsonObject = { tools: wire }
  if (wanted !== 'required' && typeof wanted !== 'object') return { config, forced: false }
  if (!traits.forcedTools) {
    const what = typeof wanted === 'object' ? `'${wanted.name}'` : 'a tool'
    tell('tools.choice', `the model cannot be forced to call ${what}; it may do so`, 'approximated')
    return { config, forced: false }
  }
  config.toolChoice = typeof wanted === 'object' ? { tool: { name: wanted.name } } : { any: {} }
  return { config, forced: true }
}

const undescribed = (name: string): JsonObject => ({
  toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } },
})

function encodeTool(tool: Tool, traits: ConverseTraits, context: CodecContext): JsonObject[] {
  const { report } = context
  const at = tool.at ?? ''
  const marks = cachePoint(tool, traits.cache?.tools === true ? traits.cache : undefined, context)
  switch (tool.type) {
    case 'function': {
      const {
        type: _,
        name,
        description,
        schema,
        strict,
        cache: _cache,
        extra,
        at: _at,
        deferred: _deferred,
        ...rest
      } = tool
      rest satisfies Nothing
      const held = traits.structured
        ? enforceTool(schema, strict, at, (detail, severity) => report.add(loss(at, detail, 'approximated', severity)))
        : { schema, strict: undefined }
      if (strict === true && !traits.structured)
        report.add(loss(pointer(at, 'strict'), 'the model takes no strict tools'))
      const spec = specOf(name, description, held.schema, at, context)
      if (held.strict === true) spec.strict = true
      return [{ toolSpec: { ...ownExtra(extra, 'converse', at, report), ...spec } }, ...marks]
    }
    case 'custom': {
      const {
        type: _,
        name,
        description,
        grammar: _grammar,
        cache: _cache,
        extra,
        at: _at,
        deferred: _deferred,
        ...rest
      } = tool
      rest satisfies Nothing
      const spec = specOf(name, description, customSchema(tool, report), at, context)
      return [{ toolSpec: { ...ownExtra(extra, 'converse', at, report), ...spec } }, ...marks]
    }
    case 'native': {
      const { type: _, format, value, cache: _cache, extra, at: _at, deferred: _deferred, ...rest } = tool
      rest satisfies Nothing
      ownExtra(extra, 'converse', at, report)
      if (format === 'converse') return [value, ...marks]
      report.add(loss(at, `the tool '${nativeToolName(value)}' has no counterpart in Converse`))
      return []
    }
    default:
      return tool satisfies never
  }
}

function specOf(
  name: string,
  description: string | undefined,
  schema: JsonObject | undefined,
  at: string,
  { report }: CodecContext,
): JsonObject {
  if (name === '') report.add(loss(at, 'a tool needs a name, this one has none', 'unsupported', 'fatal'))
  const spec: JsonObject = { name }
  // An empty description is refused.
  put(spec, 'description', description === '' ? undefined : description)
  spec.inputSchema = { json: withType(schema) }
  return spec
}

/** Bedrock insists on an object. */
function withType(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return { type: 'object', properties: {} }
  return schema.type === undefined ? { type: 'object', ...schema } : schema
}
