import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Output, Part, Reasoning, Sampling, Tool, Turn } from '../ir.ts'
import { attachCallSeals } from '../shared/call-seals.ts'
import {
  drop,
  putBack,
  take,
  takeBoolean,
  takeNumber,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { loss } from '../shared/report.ts'
import { withAddedTools } from '../shared/settings-changes.ts'
import { decodeContent, nativeBlock, substance } from './blocks-decode.ts'
import { isEffort } from './fields.ts'
import { createChangeReader } from './settings-changes.ts'
import { decodeTools, isHidden } from './tools.ts'

export function decodeRequest(body: JsonObject, context: CodecContext): ModelRequest {
  const fields = unread(body)
  const request: ModelRequest = { model: takeString(fields, 'model') ?? '', turns: [], stream: false }
  const tools = decodeTools(fields)
  request.turns = [...decodeSystem(fields), ...decodeMessages(fields, tools?.list ?? [], context)]
  request.stream = takeBoolean(fields, 'stream') ?? false
  const outputConfig = unread(isObject(fields.output_config) ? fields.output_config : {})
  put(request, 'sampling', filled(decodeSampling(fields)))
  put(request, 'tools', withAddedTools(tools, request.turns, isHidden))
  put(request, 'reasoning', decodeThinking(fields, outputConfig, context) ?? laterThinking(request.turns))
  decodeFormat(request, fields, outputConfig)
  decodeUser(request, fields)
  decodeTier(request, fields)
  restore(fields, 'output_config', outputConfig)
  const rest = substance(fields)
  if (rest !== undefined) request.extra = { messages: rest }
  return request
}

const filled = <T extends object>(group: T): T | undefined => (Object.keys(group).length === 0 ? undefined : group)

/** Puts back what nobody read of a nested object. */
function restore(fields: Unread, key: string, inner: Unread): void {
  const rest = substance(inner)
  if (rest === undefined) drop(fields, key)
  else fields[key] = rest
}

/** Claude Code's bookkeeping: it changes with each request, so another provider's prompt cache would never hit. */
const billing = 'x-anthropic-billing-header:'

function decodeSystem(fields: Unread): Turn[] {
  const { system } = fields
  if (typeof system !== 'string' && !Array.isArray(system)) return []
  drop(fields, 'system')
  const parts = decodeContent(system, '/system').map(
    (part): Part =>
      part.type === 'text' && part.text.startsWith(billing)
        ? { ...nativeBlock(sourceOf(system, part), part.at), incidental: true }
        : part,
  )
  return parts.length === 0 ? [] : [{ role: 'system', parts, at: '/system' }]
}

/** The block as the client wrote it. */
function sourceOf(system: string | Json[], part: Part & { type: 'text' }): JsonObject {
  const block = typeof system === 'string' ? undefined : system[Number(part.at?.slice('/system/'.length))]
  return isObject(block) ? block : { type: 'text', text: part.text }
}

function decodeMessages(fields: Unread, tools: readonly Tool[], context: CodecContext): Turn[] {
  const messages = Array.isArray(fields.messages) ? fields.messages : []
  drop(fields, 'messages')
  const turns: Turn[] = []
  const readChanges = createChangeReader(tools)
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue // the validator has refused it
    const at = pointer('/messages', index)
    const inner = unread(message)
    const role = takeString(inner, 'role')
    const content = decodeContent(inner.content, pointer(at, 'content'))
    drop(inner, 'content')
    // What only messages has a form for is kept as it is where it is sent to an upstream of messages.
    const changes = role === 'system' && context.upstream !== 'messages' ? readChanges(content, inner, at) : undefined
    const parts = attachCallSeals(changes?.parts ?? content, 'messages', context)
    const turn: Turn = { role: role === 'assistant' || role === 'system' ? role : 'user', parts, at }
    if (changes !== undefined) turn.changes = changes.list
    const rest = substance(inner)
    if (rest !== undefined) turn.extra = { messages: rest }
    turns.push(turn)
  }
  return turns
}

function decodeSampling(fields: Unread): Sampling {
  const sampling: Sampling = {}
  put(sampling, 'maxTokens', takeNumber(fields, 'max_tokens'))
  put(sampling, 'temperature', takeNumber(fields, 'temperature'))
  put(sampling, 'topP', takeNumber(fields, 'top_p'))
  put(sampling, 'topK', takeNumber(fields, 'top_k'))
  put(sampling, 'stop', take(fields, 'stop_sequences', isTexts))
  return sampling
}

const isTexts = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Reads `thinking`, and `effort` out of `outputConfig`. What is not known here stays where it is. */
function decodeThinking(fields: Unread, outputConfig: Unread, context: CodecContext): Reasoning | undefined {
  const reasoning: Reasoning = {}
  put(reasoning, 'effort', take(outputConfig, 'effort', isEffort))
  if (isObject(fields.thinking)) {
    const inner = unread(fields.thinking)
    const { type } = inner
    if (type === 'enabled') put(reasoning, 'budgetTokens', takeNumber(inner, 'budget_tokens'))
    else if (type === 'adaptive') reasoning.adaptive = true
    else if (type === 'disabled') reasoning.off = true
    if (type === 'adaptive' || type === 'disabled' || reasoning.budgetTokens !== undefined) {
      drop(inner, 'type')
      decodeDisplay(inner, reasoning, context)
    }
    const rest = substance(inner)
    if (rest === undefined) drop(fields, 'thinking')
    else fields.thinking = rest
  }
  if (Object.keys(reasoning).length === 0) return undefined
  // An effort alone asks for a thorough answer, not for reasoning.
  if (reasoning.effort !== undefined && Object.keys(reasoning).length === 1 && fields.thinking === undefined)
    reasoning.adaptive = false
  return reasoning
}

function decodeDisplay(inner: Unread, reasoning: Reasoning, context: CodecContext): void {
  const { display } = inner
  if (display === 'updates')
    // Claude Code's word for summaries as they come; a beta that needs its own header.
    context.report.add(loss('/thinking/display', "'updates' is taken as 'summarized'", 'approximated', 'note'))
  else if (display !== 'omitted' && display !== 'summarized') return
  reasoning.summary = display === 'omitted' ? 'none' : 'auto'
  drop(inner, 'display')
}

/** An effort alone asks for a thorough answer, not for reasoning; so does one that comes later. */
const laterThinking = (turns: readonly Turn[]): Reasoning | undefined =>
  turns.some(({ changes }) => changes?.some(({ effort }) => effort !== undefined)) ? { adaptive: false } : undefined

/** `output_config.format`, or `output_format` as it was called in the beta. */
function decodeFormat(request: ModelRequest, fields: Unread, outputConfig: Unread): void {
  const legacy = !isObject(outputConfig.format)
  const holder = legacy ? fields : outputConfig
  const key = legacy ? 'output_format' : 'format'
  const format = takeObject(holder, key)
  if (format === undefined) return
  const { type, schema, ...rest } = unread(format)
  if (type !== 'json_schema' || !isObject(schema)) {
    putBack(holder, key, format)
    return
  }
  // The model is always held to it here.
  const output: Output = { format: { type: 'json', schema, strict: true } }
  request.output = output
  if (legacy) request.at = { ...request.at, 'output.format': '/output_format' }
  restore(holder, key, rest)
}

function decodeUser(request: ModelRequest, fields: Unread): void {
  const metadata = takeObject(fields, 'metadata')
  if (metadata === undefined) return
  const inner = unread(metadata)
  const id = takeString(inner, 'user_id')
  if (id !== undefined) request.user = { id }
  restore(fields, 'metadata', inner)
}

/**
 * The IR speaks of tiers in the words that most formats share: the plain one is `default`. The fast lane is a field of its own
 * here, and a tier elsewhere.
 */
function decodeTier(request: ModelRequest, fields: Unread): void {
  if (fields.speed === 'standard') drop(fields, 'speed')
  if (fields.speed === 'fast') {
    request.serviceTier = 'fast'
    request.at = { ...request.at, serviceTier: '/speed' }
    drop(fields, 'speed')
    return
  }
  if (fields.service_tier !== 'auto' && fields.service_tier !== 'standard_only') return
  request.serviceTier = fields.service_tier === 'auto' ? 'auto' : 'default'
  drop(fields, 'service_tier')
}
