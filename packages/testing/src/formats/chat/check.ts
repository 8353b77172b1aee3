import { asList, asObject, asString, isObject, type JsonObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import {
  badType,
  badValue,
  checkNumbers,
  checkStrict,
  efforts,
  fieldError,
  missingField,
  type NumberLimits,
} from '../openai/check-fields.ts'
import { checkChatModel } from '../openai/check-models.ts'

const known = new Set(
  (
    'audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata ' +
    'modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options ' +
    'prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream ' +
    'stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options'
  ).split(' '),
)
const roles = ['system', 'assistant', 'user', 'function', 'tool', 'developer']
const partTypes = ['text', 'image_url', 'input_audio', 'refusal', 'audio', 'file']

const bounds: Readonly<Record<string, NumberLimits>> = {
  temperature: { kind: 'decimal', min: 0, max: 2 },
  top_p: { kind: 'decimal', min: 0, max: 1 },
  presence_penalty: { kind: 'decimal', min: -2, max: 2 },
  frequency_penalty: { kind: 'decimal', min: -2, max: 2 },
  n: { kind: 'integer', min: 1, max: 128 },
  max_tokens: { kind: 'integer', min: 1 },
  max_completion_tokens: { kind: 'integer', min: 1 },
  top_logprobs: { kind: 'integer', min: 0, max: 20 },
  seed: { kind: 'integer' },
}

/** Returns OpenAI's error for an invalid request, or undefined. */
export function checkChat(body: JsonObject): WireError | undefined {
  if (typeof body.model !== 'string' || body.model === '')
    return fieldError('you must provide a model parameter', undefined)
  const stranger = Object.keys(body).find((key) => !known.has(key))
  if (stranger !== undefined) return fieldError(`Unknown parameter: '${stranger}'.`, stranger, 'unknown_parameter')
  return (
    checkNumbers(body, bounds) ??
    checkFields(body) ??
    checkTools(body) ??
    checkChatModel(body) ??
    checkConversation(body)
  )
}

function checkFields(body: JsonObject): WireError | undefined {
  const stream = body.stream
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean')
    return badType('stream', 'boolean', stream)
  if (body.stream_options && stream !== true) {
    return fieldError("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  }
  if (typeof body.max_tokens === 'number' && typeof body.max_completion_tokens === 'number') {
    const words = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    return fieldError(words, 'max_tokens', 'invalid_parameter_combination')
  }
  if (Array.isArray(body.stop) && body.stop.length > 4) {
    const words = `Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length ${body.stop.length} instead.`
    return fieldError(words, 'stop', 'array_above_max_length')
  }
  if (typeof body.top_logprobs === 'number' && body.logprobs !== true) {
    return fieldError("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", 'top_logprobs')
  }
  const effort = body.reasoning_effort
  if (effort !== undefined && effort !== null && !efforts.includes(asString(effort))) {
    return badValue(effort, efforts, 'reasoning_effort')
  }
  return checkResponseFormat(body)
}

function checkResponseFormat(body: JsonObject): WireError | undefined {
  const value = body.response_format
  if (value === undefined || value === null) return undefined
  const format = asObject(value)
  if (format.type === 'json_object' && !/json/i.test(JSON.stringify(body.messages ?? ''))) {
    const words =
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    return fieldError(words, 'messages')
  }
  if (format.type === 'json_schema') {
    if (!isObject(format.json_schema)) return missingField('response_format.json_schema')
    const { name, schema, strict } = format.json_schema
    if (typeof name !== 'string') return missingField('response_format.json_schema.name')
    const owner = `response_format '${name}'`
    return strict === true ? checkStrict({ schema, owner, param: 'response_format', code: undefined }) : undefined
  }
  if (format.type !== 'text' && format.type !== 'json_object') {
    return badValue(format.type, ['json_object', 'json_schema', 'text'], 'response_format.type')
  }
  return undefined
}

function checkTools(body: JsonObject): WireError | undefined {
  const tools = asList(body.tools).map(asObject)
  for (const [index, tool] of tools.entries()) {
    const at = `tools[${index}]`
    if (tool.type === 'custom') continue
    if (tool.type !== 'function') {
      return tool.type === undefined
        ? missingField(`${at}.type`)
        : badValue(tool.type, ['function', 'custom'], `${at}.type`)
    }
    const { name, parameters, strict } = asObject(tool.function)
    if (typeof name !== 'string') return missingField(`${at}.function.name`)
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      const words = `Invalid '${at}.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
      return fieldError(words, `${at}.function.name`, 'invalid_value')
    }
    if (strict === true) {
      const owner = `function '${name}'`
      const code = 'invalid_function_parameters'
      const error = checkStrict({ schema: parameters, owner, param: `${at}.function.parameters`, code })
      if (error) return error
    }
  }
  const choice = body.tool_choice
  if (tools.length === 0) {
    if (choice !== undefined && choice !== null && choice !== 'none') {
      return fieldError(
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        'tool_choice',
      )
    }
    if (body.parallel_tool_calls !== undefined && body.parallel_tool_calls !== null) {
      const words =
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."
      return fieldError(words, 'parallel_tool_calls')
    }
  }
  if (typeof choice === 'string' && !['none', 'auto', 'required'].includes(choice)) {
    return badValue(choice, ['none', 'auto', 'required'], 'tool_choice')
  }
  const named = asObject(asObject(choice).function).name
  if (typeof named === 'string' && !tools.some((tool) => asObject(tool.function).name === named)) {
    return fieldError("Invalid value for 'tool_choice': the named function is not in 'tools'.", 'tool_choice')
  }
  return undefined
}

function checkConversation(body: JsonObject): WireError | undefined {
  if (body.messages === undefined || body.messages === null) return missingField('messages')
  if (!Array.isArray(body.messages)) return badType('messages', 'array of objects', body.messages)
  if (body.messages.length === 0) {
    const words =
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return fieldError(words, 'messages', 'empty_array')
  }
  let open = new Set<string>()
  let answerable = new Set<string>()
  for (const [index, value] of body.messages.entries()) {
    const at = `messages[${index}]`
    const message = asObject(value)
    const error = checkMessage(message, at)
    if (error) return error
    if (message.role === 'tool') {
      const id = asString(message.tool_call_id)
      if (!answerable.has(id)) {
        const words =
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        return fieldError(words, `messages.[${index}].role`)
      }
      open.delete(id)
      continue
    }
    if (open.size > 0) return unanswered(open, index)
    open = new Set(
      asList(message.tool_calls)
        .map(asObject)
        .map((call) => asString(call.id)),
    )
    answerable = new Set(open)
  }
  return open.size > 0 ? unanswered(open, body.messages.length) : undefined
}

const unanswered = (open: ReadonlySet<string>, index: number): WireError =>
  fieldError(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
    `messages.[${index}].role`,
  )

function checkMessage(message: JsonObject, at: string): WireError | undefined {
  if (message.role === undefined) return missingField(`${at}.role`)
  if (!roles.includes(asString(message.role))) return badValue(message.role, roles, `${at}.role`)
  if (message.role === 'tool' && typeof message.tool_call_id !== 'string') return missingField(`${at}.tool_call_id`)
  const { content } = message
  if (content === undefined || content === null) {
    const bare =
      message.role === 'assistant' && (message.tool_calls || message.function_call || message.refusal || message.audio)
    if (bare) return undefined
    const words = `Invalid value for 'content': expected a string, got null.`
    return fieldError(words, `messages.${at.replace('messages', '')}.content`)
  }
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return badType(`${at}.content`, 'string or array', content)
  for (const [index, value] of content.entries()) {
    const part = asObject(value)
    const place = `${at}.content[${index}]`
    if (part.type === undefined) return missingField(`${place}.type`)
    if (!partTypes.includes(asString(part.type))) return badValue(part.type, partTypes, `${place}.type`)
    if (part.type === 'text' && typeof part.text !== 'string') return missingField(`${place}.text`)
    if (part.type === 'image_url' && typeof asObject(part.image_url).url !== 'string')
      return missingField(`${place}.image_url.url`)
  }
  return checkCalls(message, at)
}

function checkCalls(message: JsonObject, at: string): WireError | undefined {
  for (const [index, value] of asList(message.tool_calls).entries()) {
    const call = asObject(value)
    const place = `${at}.tool_calls[${index}]`
    if (typeof call.id !== 'string') return missingField(`${place}.id`)
    if (call.type !== 'function' && call.type !== 'custom') {
      return call.type === undefined
        ? missingField(`${place}.type`)
        : badValue(call.type, ['function', 'custom'], `${place}.type`)
    }
    if (call.type === 'function' && typeof asObject(call.function).arguments !== 'string') {
      return badType(`${place}.function.arguments`, 'string', asObject(call.function).arguments)
    }
  }
  return undefined
}
