import { type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Tool } from '../ir.ts'
import { enforceTool } from '../messages/models.ts'
import { fieldPointer, loss, ownExtra } from '../shared/report.ts'
import { customSchema, nativeToolName, offeredTools } from '../shared/tools.ts'
import type { ConverseTraits } from './models.ts'
import { cachePoint } from './request-encode-turns.ts'

/** A client of this format wrote the tools if `isOwn`: they stay as they are. */
type ToolContext = CodecContext & { readonly isOwn: boolean }

/** The encoded `toolConfig`, and whether a call is forced. */
export interface EncodedTools {
  readonly config?: JsonObject
  readonly isToolForced: boolean
}

/**
 * Encodes tools and choice. Bedrock requires declarations of the tools that the conversation calls, and has no choice "none".
 * @param calledTools names of the tools that earlier responses called
 */
export function encodeTools(
  { tools, at }: ModelRequest,
  calledTools: ReadonlySet<string>,
  traits: ConverseTraits,
  context: ToolContext,
): EncodedTools {
  const { list = [], choice, parallel, ...rest } = tools ?? {}
  rest satisfies Nothing
  const { report } = context
  const reportField = (field: string, detail: string, ...more: [kind?: 'approximated', severity?: 'note']): void =>
    report.add(loss(fieldPointer(field, at, undefined), detail, ...more))
  let offered = list
  let choiceToSend: 'auto' | 'none' | 'required' | { name: string } | undefined
  if (typeof choice === 'object' && 'allowed' in choice) {
    offered = offeredTools(list, choice, report)
    choiceToSend = choice.mode
    reportField('tools.choice', 'only the allowed tools are offered', 'approximated', 'note')
  } else choiceToSend = choice
  if (parallel === false && choiceToSend !== 'none' && list.length > 0)
    reportField('tools.parallel', 'Converse does not keep a model from calling several tools at once')

  if (choiceToSend === 'none' && calledTools.size === 0) {
    if (list.length > 0)
      for (const field of ['tools.choice', 'tools.list'])
        reportField(field, 'Converse has no choice `none`: the tools are not offered', 'approximated', 'note')
    return { isToolForced: false }
  }
  const encodedTools = offered.flatMap((tool) => encodeTool(tool, traits, context))
  if (encodedTools.length === 0) {
    if (choiceToSend === 'required' || typeof choiceToSend === 'object')
      reportField('tools.choice', 'no tool is left to choose')
    if (calledTools.size === 0) return { isToolForced: false }
    reportField(
      'tools',
      'Bedrock requires declarations of the tools of earlier calls: the model may call them again',
      'approximated',
    )
    return { config: { tools: [...calledTools].map(emptyDeclaration) }, isToolForced: false }
  }
  if (choiceToSend === 'none')
    reportField(
      'tools.choice',
      'Bedrock requires declarations of the tools of earlier calls: the model may call them',
      'approximated',
    )
  const config: JsonObject = { tools: encodedTools }
  if (choiceToSend !== 'required' && typeof choiceToSend !== 'object') {
    // It is the default, and some models reject it.
    if (choiceToSend === 'auto' && context.isOwn) config.toolChoice = { auto: {} }
    return { config, isToolForced: false }
  }
  if (!traits.forcedTools) {
    const what = typeof choiceToSend === 'object' ? `'${choiceToSend.name}'` : 'a tool'
    reportField('tools.choice', `the model cannot be forced to call ${what}; it may do so`, 'approximated')
    return { config, isToolForced: false }
  }
  config.toolChoice = typeof choiceToSend === 'object' ? { tool: { name: choiceToSend.name } } : { any: {} }
  return { config, isToolForced: true }
}

const emptyDeclaration = (name: string): JsonObject => ({
  toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } },
})

function encodeTool(tool: Tool, traits: ConverseTraits, context: ToolContext): JsonObject[] {
  const { report, isOwn } = context
  const at = tool.at ?? ''
  const cachePoints = cachePoint(tool, traits.cache?.tools === true ? traits.cache : undefined, context)
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
      if (isOwn) {
        const spec: JsonObject = { ...ownExtra(extra, 'converse', at, report), name }
        put(spec, 'description', description)
        put(spec, 'strict', strict)
        spec.inputSchema = { json: schema ?? {} }
        return [{ toolSpec: spec }, ...cachePoints]
      }
      const enforced = traits.structured
        ? enforceTool(schema, strict, at, (detail, severity) => report.add(loss(at, detail, 'approximated', severity)))
        : { schema, strict: undefined }
      if (strict === true && !traits.structured)
        report.add(loss(pointer(at, 'strict'), 'the model accepts no strict tools'))
      const spec = encodeToolSpec(name, description, enforced.schema, at, context)
      if (enforced.strict === true) spec.strict = true
      return [{ toolSpec: { ...ownExtra(extra, 'converse', at, report), ...spec } }, ...cachePoints]
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
      const spec = encodeToolSpec(name, description, customSchema(tool, report), at, context)
      return [{ toolSpec: { ...ownExtra(extra, 'converse', at, report), ...spec } }, ...cachePoints]
    }
    case 'native': {
      const { type: _, format, value, cache: _cache, extra, at: _at, deferred: _deferred, ...rest } = tool
      rest satisfies Nothing
      ownExtra(extra, 'converse', at, report)
      if (format === 'converse') return [value, ...cachePoints]
      report.add(loss(at, `the tool '${nativeToolName(value)}' has no counterpart in Converse`))
      return []
    }
    default:
      return tool satisfies never
  }
}

function encodeToolSpec(
  name: string,
  description: string | undefined,
  schema: JsonObject | undefined,
  at: string,
  { report }: CodecContext,
): JsonObject {
  if (name === '') report.add(loss(at, 'a tool without a name is not accepted', 'unsupported', 'fatal'))
  const spec: JsonObject = { name }
  // Bedrock rejects an empty description.
  put(spec, 'description', description === '' ? undefined : description)
  spec.inputSchema = { json: withObjectType(schema) }
  return spec
}

/** Returns a schema with `type`, which Bedrock requires. */
function withObjectType(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return { type: 'object', properties: {} }
  return schema.type === undefined ? { type: 'object', ...schema } : schema
}
