import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
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
import { withAddedTools } from '../shared/settings-changes.ts'
import { decodeContent, meaningfulFields, nativeBlock } from './blocks-decode.ts'
import { decodeCache } from './cache.ts'
import { createChangeDecoder } from './settings-changes.ts'
import { decodeThinking } from './thinking-decode.ts'
import { decodeTools, isDeferred } from './tools.ts'

/** Decodes a request. Unread fields become `extra`. */
export function decodeRequest(body: JsonObject, context: CodecContext): ModelRequest {
  const fields = unread(body)
  const request: ModelRequest = { model: takeString(fields, 'model') ?? '', turns: [], stream: false }
  const tools = decodeTools(fields)
  request.turns = [...decodeSystem(fields), ...decodeMessages(fields, tools?.list ?? [], context)]
  request.stream = takeBoolean(fields, 'stream') ?? false
  const outputConfig = unread(isObject(fields.output_config) ? fields.output_config : {})
  put(request, 'sampling', undefinedIfEmpty(decodeSampling(fields)))
  put(request, 'tools', withAddedTools(tools, request.turns, isDeferred))
  put(request, 'reasoning', decodeThinking(fields, outputConfig, context) ?? reasoningOfChanges(request.turns))
  decodeFormat(request, fields, outputConfig)
  decodeUser(request, fields)
  decodeTier(request, fields)
  decodePromptCache(request, fields)
  keepUnread(fields, 'output_config', outputConfig)
  const rest = meaningfulFields(fields)
  if (rest !== undefined) request.extra = { messages: rest }
  return request
}

/** A request for no token only fills the cache. */
function decodePromptCache(request: ModelRequest, fields: Unread): void {
  const automatic = decodeCache(fields)
  if (automatic !== undefined) request.cache = { ...automatic, automatic: true }
  if (request.sampling?.maxTokens !== 0) return
  const { maxTokens: _, ...sampling } = request.sampling
  delete request.sampling
  put(request, 'sampling', undefinedIfEmpty(sampling))
  request.cache = { ...request.cache, prewarm: true }
}

const undefinedIfEmpty = <T extends object>(group: T): T | undefined =>
  Object.keys(group).length === 0 ? undefined : group

/** Puts the unread fields of a nested object back in its place, or drops the object if none are left. */
function keepUnread(fields: Unread, key: string, inner: Unread): void {
  const rest = meaningfulFields(inner)
  if (rest === undefined) drop(fields, key)
  else fields[key] = rest
}

/** Prefix of Claude Code's billing text. The text changes with each request, so another provider's prompt cache would never hit. */
const billingPrefix = 'x-anthropic-billing-header:'

function decodeSystem(fields: Unread): Turn[] {
  const { system } = fields
  if (typeof system !== 'string' && !Array.isArray(system)) return []
  drop(fields, 'system')
  const parts = decodeContent(system, '/system').map(
    (part): Part =>
      part.type === 'text' && part.text.startsWith(billingPrefix)
        ? { ...nativeBlock(sourceOf(system, part), part.at), incidental: true }
        : part,
  )
  return parts.length === 0 ? [] : [{ role: 'system', parts, at: '/system' }]
}

/** Returns the block as the client wrote it. */
function sourceOf(system: string | Json[], part: Part & { type: 'text' }): JsonObject {
  const block = typeof system === 'string' ? undefined : system[Number(part.at?.slice('/system/'.length))]
  return isObject(block) ? block : { type: 'text', text: part.text }
}

function decodeMessages(fields: Unread, tools: readonly Tool[], context: CodecContext): Turn[] {
  const messages = Array.isArray(fields.messages) ? fields.messages : []
  drop(fields, 'messages')
  const turns: Turn[] = []
  const readChanges = createChangeDecoder(tools)
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue // the validator has rejected it
    const at = pointer('/messages', index)
    const inner = unread(message)
    const role = takeString(inner, 'role')
    const content = decodeContent(inner.content, pointer(at, 'content'))
    drop(inner, 'content')
    // For an upstream of messages, changes of settings stay in their original form.
    const changes = role === 'system' && context.upstream !== 'messages' ? readChanges(content, inner, at) : undefined
    const parts = attachCallSeals(changes?.parts ?? content, 'messages', context)
    const turn: Turn = { role: role === 'assistant' || role === 'system' ? role : 'user', parts, at }
    if (changes !== undefined) turn.changes = changes.list
    const rest = meaningfulFields(inner)
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
  put(sampling, 'stop', take(fields, 'stop_sequences', isStringArray))
  return sampling
}

const isStringArray = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Returns the reasoning of a request whose only effort comes within the conversation. Such an effort does not ask for reasoning. */
const reasoningOfChanges = (turns: readonly Turn[]): Reasoning | undefined =>
  turns.some(({ changes }) => changes?.some(({ effort }) => effort !== undefined)) ? { adaptive: false } : undefined

/** Decodes `output_config.format`, or `output_format`, which was its name in the beta. */
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
  // Anthropic always enforces the schema.
  const output: Output = { format: { type: 'json', schema, strict: true } }
  request.output = output
  if (legacy) request.at = { ...request.at, 'output.format': '/output_format' }
  keepUnread(holder, key, rest)
}

function decodeUser(request: ModelRequest, fields: Unread): void {
  const metadata = takeObject(fields, 'metadata')
  if (metadata === undefined) return
  const inner = unread(metadata)
  const id = takeString(inner, 'user_id')
  if (id !== undefined) request.user = { id }
  keepUnread(fields, 'metadata', inner)
}

/**
 * Decodes the service tier. The IR uses the names that most formats share: the standard tier is `default`. The fast tier is a field of
 * its own in messages (`speed`) and a tier in other formats.
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
