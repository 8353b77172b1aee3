import { isObject, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { parseInnerObject } from '../../base/json/parse.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type {
  ModelRequest,
  NativePart,
  Nothing,
  Part,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../ir.ts'
import { append, toText } from '../shared/json-fields.ts'
import { cachePlace, loss, ownExtra } from '../shared/report.ts'
import {
  collapseContent,
  encodeInputPart,
  encodeOutputPart,
  isMessagePart,
  isSameMessage,
  messageFieldsOf,
  omitPart,
  reportCache,
} from './content.ts'
import { encodeReasoning, isFromResponses, isSameItem } from './reasoning.ts'
import { encodeChanges } from './settings-changes.ts'
import { findMember, nativeToolOf } from './tools.ts'

export type EncodeContext = CodecContext & { readonly target: TargetTraits }

interface Scope {
  readonly request: ModelRequest
  readonly context: EncodeContext
  readonly tools: ModelRequest['tools']
  /** Ids of custom tool calls, whose results have another item type. */
  readonly customCalls: ReadonlySet<string>
}

/** Encodes turns to input items, and reports what items cannot hold. */
export function encodeInputItems(turns: readonly Turn[], request: ModelRequest, context: EncodeContext): JsonObject[] {
  const customCalls = new Set<string>()
  for (const { parts } of turns)
    for (const part of parts) if (part.type === 'tool-call' && part.custom) customCalls.add(part.id)
  const scope: Scope = { request, context, tools: request.tools, customCalls }
  return turns.flatMap((turn) => {
    if (turn.cache !== undefined)
      context.report.add(loss(cachePlace(turn), 'responses has no cache hints', 'unsupported', 'note'))
    if (turn.name !== undefined)
      context.report.add(loss(pointer(turn.at ?? '', 'name'), 'messages have no name in responses'))
    return turn.role === 'assistant' ? encodeAssistant(turn, scope) : encodeClient(turn, scope)
  })
}

/** Encodes the messages and tool results of a turn, in order. */
function encodeClient(turn: Turn, scope: Scope): JsonObject[] {
  const { role, parts, name: _name, cache: _cache, extra, at = '', changes, ...rest } = turn
  rest satisfies Nothing
  const { context } = scope
  let own: JsonObject | undefined = ownExtra(extra, 'responses', at, context.report)
  const items: JsonObject[] = []
  let content: JsonObject[] = []
  const flush = (): void => {
    if (content.length > 0) items.push({ ...own, type: 'message', role, content: collapseContent(content) })
    if (content.length > 0) own = undefined
    content = []
  }
  for (const part of parts) {
    if (part.type === 'tool-result') {
      flush()
      items.push(encodeResult(part, scope))
    } else if (part.type === 'native' && part.format === 'responses' && isItem(part)) {
      flush()
      items.push(part.value)
    } else {
      const encoded = encodeInputPart(part, 'message', context)
      if (encoded !== undefined) content.push(encoded)
    }
  }
  flush()
  if (changes !== undefined) append(items, encodeChanges(changes, scope.request, context))
  else if (parts.length === 0) items.push({ ...own, type: 'message', role, content: '' })
  else if (items.length === 0 && role === 'user')
    // Without any part of the message the model would get a different request.
    context.report.add(loss(at, 'no part of this message can be sent', 'unsupported', 'fatal'))
  else if (own !== undefined)
    for (const key of Object.keys(own))
      context.report.add(loss(pointer(at, key), 'the message that contained it is not sent'))
  return items
}

/** Returns whether a native part is an item, as opposed to content of a message. */
const isItem = ({ value }: NativePart): boolean => {
  const type = toText(value.type)
  return !type.startsWith('input_') && type !== 'computer_screenshot' && type !== ''
}

function encodeResult(part: ToolResultPart, { context, customCalls }: Scope): JsonObject {
  const { type: _, callId, name: _name, parts, isError, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  reportCache(part, context)
  const { native, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
  if (isObject(native)) return native
  const content = parts.map((inner) => encodeInputPart(inner, 'result', context)).filter(isObject)
  if (isError)
    context.report.add(
      loss(
        pointer(at, 'is_error'),
        'responses cannot mark a result as an error; the text is sent without the mark',
        'approximated',
        'note',
      ),
    )
  const type = customCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, ...own, call_id: callId, output: collapseContent(content) }
}

function encodeAssistant(turn: Turn, scope: Scope): JsonObject[] {
  const { role: _, parts, name: _name, cache: _cache, extra, at = '', changes: _changes, ...rest } = turn
  rest satisfies Nothing
  const { context } = scope
  const own = ownExtra(extra, 'responses', at, context.report)
  const items: JsonObject[] = []
  let textParts: (Part & { type: 'text' | 'refusal' })[] = []
  let reasoningParts: ReasoningPart[] = []
  const flush = (): void => {
    if (textParts.length > 0) items.push(encodeMessage(textParts, context))
    if (reasoningParts.length > 0) append(items, encodeReasoningGroup(reasoningParts, context))
    textParts = []
    reasoningParts = []
  }
  for (const part of parts) {
    reportCache(part, context)
    const [lastText] = textParts.slice(-1)
    const [lastReasoning] = reasoningParts.slice(-1)
    if (isMessagePart(part)) {
      if (lastText === undefined || !isSameMessage(lastText, part)) flush()
      textParts.push(part)
    } else if (part.type === 'reasoning') {
      if (lastReasoning === undefined || !isSameItem(lastReasoning, part)) flush()
      reasoningParts.push(part)
    } else {
      flush()
      const item = encodeOtherPart(part, scope)
      if (item !== undefined) items.push(item)
    }
  }
  flush()
  if (parts.length === 0) items.push({ ...own, type: 'message', role: 'assistant', content: '' })
  else if (own !== undefined)
    for (const key of Object.keys(own))
      context.report.add(loss(pointer(at, key), 'the message that contained it is not sent'))
  return items
}

function encodeMessage(
  textParts: readonly (Part & { type: 'text' | 'refusal' })[],
  context: EncodeContext,
): JsonObject {
  const [first] = textParts
  const own = first === undefined ? undefined : messageFieldsOf(first)
  const content = textParts.map((part) => encodeOutputPart(part, context))
  const [only] = content
  const plain = own?.id === undefined && content.length === 1 && only?.type === 'output_text' && isPlain(only)
  return {
    ...own,
    type: 'message',
    role: 'assistant',
    content: plain && only !== undefined ? (only.text ?? '') : content,
  }
}

const isPlain = (part: JsonObject): boolean =>
  Object.keys(part).length === 3 && Array.isArray(part.annotations) && part.annotations.length === 0

/** Encodes reasoning of this format. Servers accept no other reasoning, so it is withheld and reported. */
function encodeReasoningGroup(group: readonly ReasoningPart[], context: EncodeContext): JsonObject[] {
  if (isFromResponses(group)) return [encodeReasoning(group, context)]
  for (const { seal, redacted, extra, at = '', text } of group) {
    ownExtra(extra, 'responses', at, context.report)
    const what =
      seal === undefined ? 'reasoning of another provider' : redacted ? 'redacted reasoning' : 'signed reasoning'
    if (seal !== undefined || text !== '')
      context.report.add(loss(at, `${what} can be read only by its issuer and was withheld`, 'unsupported', 'note'))
  }
  return []
}

function encodeOtherPart(part: Part, scope: Scope): JsonObject | undefined {
  const { context } = scope
  if (part.type === 'tool-call') return encodeCall(part, scope)
  if (part.type === 'native' && part.format === 'responses') return part.value
  if (
    part.type === 'media' &&
    part.kind === 'image' &&
    part.source.type === 'base64' &&
    part.extra?.responses !== undefined
  ) {
    const { extra, at = '', source } = part
    return { ...ownExtra(extra, 'responses', at, context.report), type: 'image_generation_call', result: source.data }
  }
  return omitPart(part, 'not allowed in an assistant message', context)
}

function encodeCall(part: ToolCallPart, { context, tools }: Scope): JsonObject {
  const { type: _, id, name, input, custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { namespace, native, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
  if (isObject(native)) return native
  if (seal !== undefined)
    context.report.add(
      loss(at, 'the signature of a tool call can be read only by its issuer and was withheld', 'unsupported', 'note'),
    )
  const search = nativeToolOf(name, tools)
  if (search !== undefined) return toolSearchCall(id, input)
  return { ...own, ...callFields(name, input, custom, id, namespace, tools) }
}

/** Returns the fields of a call's item, in requests and responses. */
export function callFields(
  name: string,
  input: string,
  custom: boolean | undefined,
  id: string,
  kept: unknown,
  tools: ModelRequest['tools'],
): JsonObject {
  const member =
    isObject(kept) && typeof kept.name === 'string' && typeof kept.member === 'string'
      ? { namespace: kept.name, name: kept.member }
      : kept === false
        ? undefined
        : findMember(name, tools)
  const out: JsonObject = { type: custom ? 'custom_tool_call' : 'function_call', call_id: id }
  put(out, 'namespace', member?.namespace)
  out.name = member?.name ?? name
  if (custom) out.input = input
  else out.arguments = input || '{}'
  return out
}

/** Returns the item of a tool search that the client runs. */
export function toolSearchCall(id: string, input: string): JsonObject {
  return { type: 'tool_search_call', call_id: id, execution: 'client', arguments: parseInnerObject(input) ?? {} }
}
