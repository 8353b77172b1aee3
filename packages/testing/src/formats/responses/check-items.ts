import type { Json, JsonObject } from '../../base/json.ts'
import { asObject, asString, isObject, toText } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import type { CheckContext } from '../dialect.ts'
import type { Memory } from '../memory.ts'
import { badType, badValue, fieldError, missingField } from '../openai/check-fields.ts'
import { createSealStyle } from '../seals.ts'
import { conversationOf, isCall, isOutput, itemsOf, typeOf } from './input.ts'

/** Base64 that begins like an encrypted token (version, then time), as the real content does. */
export const openaiSealStyle = createSealStyle('reasoning', { bytes: '\x80\0\0\0\0i' })

/** Required fields of each type of item. */
const required: Readonly<Record<string, string>> = {
  message: 'role content',
  function_call: 'call_id name arguments',
  function_call_output: 'call_id output',
  custom_tool_call: 'call_id name input',
  custom_tool_call_output: 'call_id output',
  reasoning: 'summary',
  item_reference: 'id',
  compaction: 'encrypted_content',
  tool_search_call: '',
  tool_search_output: 'tools',
  additional_tools: 'tools',
  compaction_trigger: '',
  file_search_call: 'id',
  computer_call: 'id',
  computer_call_output: 'call_id output',
  web_search_call: 'id',
  image_generation_call: 'id',
  code_interpreter_call: 'id',
  local_shell_call: 'call_id action',
  local_shell_call_output: 'output',
  shell_call: 'call_id action',
  shell_call_output: 'call_id output',
  apply_patch_call: 'call_id operation',
  apply_patch_call_output: 'call_id status',
  mcp_list_tools: 'id',
  mcp_approval_request: 'id',
  mcp_approval_response: 'approval_request_id approve',
  mcp_call: 'id',
  program: 'id',
  program_output: 'id',
}
/** Prefixes of item ids. */
const prefixes: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  reasoning: 'rs',
}
/** Items with content that only the provider can read. */
const sealed = ['reasoning', 'compaction']
const roles = ['assistant', 'system', 'developer', 'user']
const inputParts = ['input_text', 'input_image', 'input_file', 'input_audio', 'output_text', 'refusal']

/** Checks the conversation: items, order and references. */
export function checkItems(body: JsonObject, { memory, seals }: CheckContext): WireError | undefined {
  const { input, previous_response_id: previous } = body
  const elsewhere = previous ?? body.prompt ?? body.conversation
  if ((input === undefined || input === null) && !elsewhere) {
    const words = 'One of "input" or "previous_response_id" or \'prompt\' or \'conversation_id\' must be provided.'
    return fieldError(words, 'input', 'missing_required_parameter')
  }
  if (input !== undefined && input !== null && typeof input !== 'string' && !Array.isArray(input)) {
    return badType('input', 'string or an array', input)
  }
  if (typeof previous === 'string' && !memory.conversations.has(previous)) {
    const words = `Previous response with id '${previous}' not found.`
    return fieldError(words, 'previous_response_id', 'previous_response_not_found')
  }
  for (const [index, item] of itemsOf(input).entries()) {
    const at = `input[${index}]`
    const error = checkItem(item, at) ?? checkStored(item, memory)
    if (error) return error
    if (sealed.includes(typeOf(item)) && typeof item.encrypted_content === 'string') {
      const content = item.encrypted_content
      if (seals.verify(openaiSealStyle, '', content) || seals.verifyRedacted(openaiSealStyle, content)) continue
      const shown = content.length > 8 ? `${content.slice(0, 4)}...${content.slice(-4)}` : content
      const words = `The encrypted content ${shown} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
      return fieldError(words, undefined, 'invalid_encrypted_content')
    }
  }
  const items = conversationOf(body, memory)
  // A stored prompt or conversation may hold the other half of a pair.
  if (body.prompt || body.conversation) return undefined
  return checkPairs(items) ?? checkReasoning(items, memory)
}

function checkItem(item: JsonObject, at: string): WireError | undefined {
  const type = typeOf(item)
  const wanted = required[type]
  if (type === '') return missingField(`${at}.role`)
  if (wanted === undefined) return badValue(type, Object.keys(required).sort(), at)
  const lacking = wanted.split(' ').find((field) => field !== '' && (item[field] === undefined || item[field] === null))
  if (lacking !== undefined) return missingField(`${at}.${lacking}`)
  const prefix = prefixes[type]
  if (prefix !== undefined && typeof item.id === 'string' && !item.id.startsWith(prefix)) {
    const words = `Invalid '${at}.id': '${item.id}'. Expected an ID that begins with '${prefix}'.`
    return fieldError(words, `${at}.id`, 'invalid_value')
  }
  if (type === 'function_call' && typeof item.arguments !== 'string') {
    return badType(`${at}.arguments`, 'string', item.arguments)
  }
  if (type === 'custom_tool_call' && typeof item.input !== 'string') return badType(`${at}.input`, 'string', item.input)
  if (type === 'message') return checkMessage(item, at)
  if (type === 'function_call_output' || type === 'custom_tool_call_output') {
    return checkParts(item.output, `${at}.output`, ['input_text', 'input_image', 'input_file'])
  }
  return undefined
}

function checkMessage(item: JsonObject, at: string): WireError | undefined {
  const role = asString(item.role)
  if (!roles.includes(role)) return badValue(item.role, roles, `${at}.role`)
  const parts =
    role === 'assistant' ? ['output_text', 'refusal'] : inputParts.filter((part) => part.startsWith('input_'))
  return checkParts(item.content, `${at}.content`, parts)
}

function checkParts(content: Json | undefined, at: string, allowed: readonly string[]): WireError | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return badType(at, 'string or an array', content)
  for (const [index, value] of content.entries()) {
    const part = asObject(value)
    const place = `${at}[${index}]`
    if (part.type === undefined) return missingField(`${place}.type`)
    if (!allowed.includes(asString(part.type))) return badValue(part.type, allowed, place)
    const field = part.type === 'refusal' ? 'refusal' : 'text'
    if ((part.type === 'refusal' || toText(part.type).endsWith('_text')) && typeof part[field] !== 'string') {
      return missingField(`${place}.${field}`)
    }
    if (part.type === 'input_image' && typeof part.image_url !== 'string' && typeof part.file_id !== 'string') {
      return isObject(part.image_url)
        ? badType(`${place}.image_url`, 'string', part.image_url)
        : missingField(`${place}.image_url`)
    }
  }
  return undefined
}

/** Requires that an item referenced by id was stored. */
function checkStored(item: JsonObject, memory: Memory): WireError | undefined {
  const type = typeOf(item)
  const bare = type === 'reasoning' && typeof item.encrypted_content !== 'string'
  if ((type !== 'item_reference' && !bare) || typeof item.id !== 'string' || memory.items.has(item.id)) return undefined
  const words = `Item with id '${item.id}' not found.`
  const hint = bare
    ? ' Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.'
    : ''
  return { ...fieldError(words + hint, 'input'), status: 404 }
}

/** Requires a later result for every call, and a call for every result. */
function checkPairs(items: readonly JsonObject[]): WireError | undefined {
  const requested = items.filter(isCall).map((item) => asString(item.call_id))
  const answers = items.filter((item) => isOutput(item) && typeof item.call_id === 'string')
  const stray = answers.find((item) => !requested.includes(asString(item.call_id)))
  const kind = (item: JsonObject): string =>
    typeOf(item)
      .replace(/_output$/, '')
      .replace('_tool_call', ' tool call')
      .replace('_', ' ')
  if (stray)
    return fieldError(`No tool call found for ${kind(stray)} output with call_id ${asString(stray.call_id)}.`, 'input')
  const open = items.find((item) => isCall(item) && !answers.some((answer) => answer.call_id === item.call_id))
  return open && fieldError(`No tool output found for ${kind(open)} ${asString(open.call_id)}.`, 'input')
}

/** Requires reasoning and the item that followed it to come back together. */
function checkReasoning(items: readonly JsonObject[], memory: Memory): WireError | undefined {
  for (const [index, item] of items.entries()) {
    const id = asString(item.id)
    if (typeOf(item) === 'reasoning') {
      const next = items.slice(index + 1).find((other) => typeOf(other) !== 'reasoning')
      const own = next !== undefined && !isOutput(next) && next.role !== 'user' && next.role !== 'system'
      const needed = [...memory.reasonings.values()].includes(id)
      if (own || !needed) continue
      return fieldError(`Item '${id}' of type 'reasoning' was provided without its required following item.`, 'input')
    }
    const reasoning = memory.reasonings.get(id)
    const present = items.some((other) => typeOf(other) === 'reasoning' && (other.id ?? reasoning) === reasoning)
    if (reasoning === undefined || present) continue
    const words = `Item '${id}' of type '${typeOf(item)}' was provided without its required 'reasoning' item: '${reasoning}'.`
    return fieldError(words, 'input')
  }
  return undefined
}
