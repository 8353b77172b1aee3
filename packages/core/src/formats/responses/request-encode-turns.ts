import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
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
import { parseInnerObject } from '../shared/json-text.ts'
import { pointer } from '../shared/pointers.ts'
import { loss, ownExtra } from '../shared/report.ts'
import {
  collapse,
  encodeInput,
  encodeOutput,
  isWords,
  leaveOut,
  messageOf,
  reportCache,
  sameMessage,
} from './content.ts'
import { encodeReasoning, isOwn, joins } from './reasoning.ts'
import { encodeChanges } from './settings-changes.ts'
import { findMember, nativeOf } from './tools.ts'

export type EncodeContext = CodecContext & { readonly target: TargetTraits }

interface Scope {
  readonly request: ModelRequest
  readonly context: EncodeContext
  readonly tools: ModelRequest['tools']
  /** Calls of custom tools: their results are written differently. */
  readonly customCalls: ReadonlySet<string>
}

export function encodeInputItems(turns: readonly Turn[], request: ModelRequest, context: EncodeContext): JsonObject[] {
  const customCalls = new Set<string>()
  for (const { parts } of turns)
    for (const part of parts) if (part.type === 'tool-call' && part.custom) customCalls.add(part.id)
  const scope: Scope = { request, context, tools: request.tools, customCalls }
  return turns.flatMap((turn) => {
    if (turn.cache !== undefined)
      context.report.add(
        loss(pointer(turn.at ?? '', 'cache_control'), 'a cache hint has no form in responses', 'unsupported', 'note'),
      )
    if (turn.name !== undefined)
      context.report.add(loss(pointer(turn.at ?? '', 'name'), 'messages have no name in responses'))
    return turn.role === 'assistant' ? encodeAssistant(turn, scope) : encodeClient(turn, scope)
  })
}

/** Messages and the results of tools, in the order of the turn. */
function encodeClient(turn: Turn, scope: Scope): JsonObject[] {
  const { role, parts, name: _name, cache: _cache, extra, at = '', changes, ...rest } = turn
  rest satisfies Nothing
  const { context } = scope
  let own: JsonObject | undefined = ownExtra(extra, 'responses', at, context.report)
  const items: JsonObject[] = []
  let content: JsonObject[] = []
  const flush = (): void => {
    if (content.length > 0) items.push({ ...own, type: 'message', role, content: collapse(content) })
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
      const encoded = encodeInput(part, 'message', context)
      if (encoded !== undefined) content.push(encoded)
    }
  }
  flush()
  if (changes !== undefined) append(items, encodeChanges(changes, scope.request, context))
  else if (parts.length === 0) items.push({ ...own, type: 'message', role, content: '' })
  else if (items.length === 0 && role === 'user')
    // A question of which nothing is left would be another question.
    context.report.add(loss(at, 'nothing of this message can be carried', 'unsupported', 'fatal'))
  else if (own !== undefined)
    for (const key of Object.keys(own)) context.report.add(loss(pointer(at, key), 'there is no message to carry it'))
  return items
}

/** Items among a client's parts, as opposed to content of its messages. */
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
  const content = parts.map((inner) => encodeInput(inner, 'result', context)).filter(isObject)
  if (isError)
    context.report.add(
      loss(
        pointer(at, 'is_error'),
        'responses has no mark for a failed call; the text says what it says',
        'approximated',
        'note',
      ),
    )
  const type = customCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, ...own, call_id: callId, output: collapse(content) }
}

function encodeAssistant(turn: Turn, scope: Scope): JsonObject[] {
  const { role: _, parts, name: _name, cache: _cache, extra, at = '', changes: _changes, ...rest } = turn
  rest satisfies Nothing
  const { context } = scope
  const own = ownExtra(extra, 'responses', at, context.report)
  const items: JsonObject[] = []
  let words: (Part & { type: 'text' | 'refusal' })[] = []
  let thoughts: ReasoningPart[] = []
  const flush = (): void => {
    if (words.length > 0) items.push(encodeWords(words, context))
    if (thoughts.length > 0) append(items, encodeThoughts(thoughts, context))
    words = []
    thoughts = []
  }
  for (const part of parts) {
    reportCache(part, context)
    const [lastWord] = words.slice(-1)
    const [lastThought] = thoughts.slice(-1)
    if (isWords(part)) {
      if (lastWord === undefined || !sameMessage(lastWord, part)) flush()
      words.push(part)
    } else if (part.type === 'reasoning') {
      if (lastThought === undefined || !joins(lastThought, part)) flush()
      thoughts.push(part)
    } else {
      flush()
      const item = encodeOther(part, scope)
      if (item !== undefined) items.push(item)
    }
  }
  flush()
  if (parts.length === 0) items.push({ ...own, type: 'message', role: 'assistant', content: '' })
  else if (own !== undefined)
    for (const key of Object.keys(own)) context.report.add(loss(pointer(at, key), 'there is no message to carry it'))
  return items
}

function encodeWords(words: readonly (Part & { type: 'text' | 'refusal' })[], context: EncodeContext): JsonObject {
  const [first] = words
  const own = first === undefined ? undefined : messageOf(first)
  const content = words.map((part) => encodeOutput(part, context))
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

/** Only a server of this format takes reasoning of this format back; all other stays here. */
function encodeThoughts(group: readonly ReasoningPart[], context: EncodeContext): JsonObject[] {
  if (isOwn(group)) return [encodeReasoning(group, context)]
  for (const { seal, redacted, extra, at = '', text } of group) {
    ownExtra(extra, 'responses', at, context.report)
    const what =
      seal === undefined ? 'reasoning of another provider' : redacted ? 'redacted reasoning' : 'signed reasoning'
    if (seal !== undefined || text !== '')
      context.report.add(loss(at, `${what} can be read by its issuer only and was withheld`, 'unsupported', 'note'))
  }
  return []
}

function encodeOther(part: Part, scope: Scope): JsonObject | undefined {
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
  return leaveOut(part, 'an assistant of responses cannot say it', context)
}

function encodeCall(part: ToolCallPart, { context, tools }: Scope): JsonObject {
  const { type: _, id, name, input, custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { namespace, native, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
  if (isObject(native)) return native
  if (seal !== undefined)
    context.report.add(
      loss(at, 'the signature of a tool call can be read by its issuer only and was withheld', 'unsupported', 'note'),
    )
  const search = nativeOf(name, tools)
  if (search !== undefined) return searchCall(id, input)
  return { ...own, ...callFields(name, input, custom, id, namespace, tools) }
}

/** What a call's item says of the call: also in an answer. */
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

/** A call of the function that stood for the client's tool search. */
export function searchCall(id: string, input: string): JsonObject {
  return { type: 'tool_search_call', call_id: id, execution: 'client', arguments: parseInnerObject(input) ?? {} }
}
