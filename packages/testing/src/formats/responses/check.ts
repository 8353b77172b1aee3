import { asList, asObject, asString, isObject, type JsonObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import type { CheckContext } from '../dialect.ts'
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
import { checkResponsesModel } from '../openai/check-models.ts'
import { checkItems } from './check-items.ts'
import { flatTools } from './input.ts'

const known = new Set(
  (
    'background client_metadata context_management conversation include input instructions max_output_tokens max_tool_calls ' +
    'metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options ' +
    'prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text ' +
    'tool_choice tools top_logprobs top_p truncation user'
  ).split(' '),
)
/** Fields of `/responses/compact`: those with which a conversation is read. */
const knownToCompact = new Set(
  (
    'input instructions model parallel_tool_calls previous_response_id prompt_cache_key prompt_cache_options ' +
    'prompt_cache_retention reasoning service_tier text tools'
  ).split(' '),
)
/** Fields of Chat Completions that have another name or place here. */
const movedFields: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
}
const toolTypes = [
  'function',
  'mcp',
  'code_interpreter',
  'file_search',
  'web_search',
  'web_search_preview',
  'image_generation',
  'computer',
  'computer_use_preview',
  'local_shell',
  'shell',
  'custom',
  'apply_patch',
  'namespace',
  'tool_search',
  'programmatic_tool_calling',
]
const includable = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
]
const bounds: Readonly<Record<string, NumberLimits>> = {
  temperature: { kind: 'decimal', min: 0, max: 2 },
  top_p: { kind: 'decimal', min: 0, max: 1 },
  // The API rejects lower limits for every model: reasoning models need these tokens.
  max_output_tokens: { kind: 'integer', min: 16 },
  top_logprobs: { kind: 'integer', min: 0, max: 20 },
  max_tool_calls: { kind: 'integer', min: 1 },
}

/** Returns OpenAI's error for an invalid request, or undefined. */
export function checkResponses(body: JsonObject, checking: CheckContext): WireError | undefined {
  // A stored prompt may name the model.
  if (typeof body.model !== 'string' ? !body.prompt : body.model === '') return missingField('model')
  const fields = checking.route.operation === 'compact' ? knownToCompact : known
  const stranger = Object.keys(body).find((key) => !fields.has(key))
  if (stranger !== undefined) return strange(stranger)
  return (
    checkNumbers(body, bounds) ??
    checkFields(body) ??
    checkText(body) ??
    checkTools(body) ??
    checkResponsesModel(body) ??
    checkItems(body, checking)
  )
}

function strange(name: string): WireError {
  const place = movedFields[name]
  if (place === undefined) return fieldError(`Unknown parameter: '${name}'.`, name, 'unknown_parameter')
  return fieldError(
    `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${place}'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.`,
    name,
    'unsupported_parameter',
  )
}

function checkFields(body: JsonObject): WireError | undefined {
  for (const param of ['stream', 'store', 'parallel_tool_calls', 'background']) {
    const value = body[param]
    if (value !== undefined && value !== null && typeof value !== 'boolean') return badType(param, 'boolean', value)
  }
  if (body.stream_options && body.stream !== true) {
    return fieldError("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  }
  for (const [index, value] of asList(body.include).entries()) {
    if (!includable.includes(asString(value))) return badValue(value, includable, `include[${index}]`)
  }
  const { effort } = asObject(body.reasoning)
  if (effort !== undefined && effort !== null && !efforts.includes(asString(effort))) {
    return badValue(effort, efforts, 'reasoning.effort')
  }
  if (typeof body.instructions !== 'string' && body.instructions !== undefined && body.instructions !== null) {
    return badType('instructions', 'string', body.instructions)
  }
  for (const [key, value] of Object.entries(asObject(body.metadata))) {
    if (typeof value !== 'string') return badType(`metadata.${key}`, 'string', value)
  }
  return undefined
}

function checkText(body: JsonObject): WireError | undefined {
  const text = asObject(body.text)
  if (
    text.verbosity !== undefined &&
    text.verbosity !== null &&
    !['low', 'medium', 'high'].includes(asString(text.verbosity))
  ) {
    return badValue(text.verbosity, ['low', 'medium', 'high'], 'text.verbosity')
  }
  if (text.format === undefined || text.format === null) return undefined
  const format = asObject(text.format)
  if (format.type === 'json_object') {
    if (/json/i.test(JSON.stringify([body.input ?? '', body.instructions ?? '']))) return undefined
    const words =
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
    return fieldError(words, 'input')
  }
  if (format.type === 'text') return undefined
  if (format.type === undefined) return missingField('text.format.type')
  if (format.type !== 'json_schema')
    return badValue(format.type, ['text', 'json_object', 'json_schema'], 'text.format.type')
  if (typeof format.name !== 'string') return missingField('text.format.name')
  if (!isObject(format.schema)) return missingField('text.format.schema')
  if (format.strict !== true) return undefined
  return checkStrict({
    schema: format.schema,
    owner: `response_format '${format.name}'`,
    param: 'text.format.schema',
    code: 'invalid_json_schema',
  })
}

function checkTools(body: JsonObject): WireError | undefined {
  for (const [index, value] of asList(body.tools).entries()) {
    const error = checkTool(asObject(value), `tools[${index}]`)
    if (error) return error
  }
  const choice = body.tool_choice
  if (choice === undefined || choice === null) return undefined
  const tools = flatTools(body.tools).map(({ tool }) => tool)
  if (typeof choice === 'string') {
    if (!['none', 'auto', 'required'].includes(choice))
      return badValue(choice, ['none', 'auto', 'required'], 'tool_choice')
    if (choice === 'required' && tools.length === 0) {
      return fieldError("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice')
    }
    return undefined
  }
  const { name, type } = asObject(choice)
  if (type !== 'function' && type !== 'custom') return undefined
  if (typeof name !== 'string') return missingField('tool_choice.name')
  return tools.some((tool) => tool.type === type && tool.name === name)
    ? undefined
    : fieldError(`Tool choice '${type}' not found in 'tools' parameter.`, 'tool_choice')
}

function checkTool(tool: JsonObject, at: string): WireError | undefined {
  if (tool.type === undefined) return missingField(`${at}.type`)
  if (!toolTypes.includes(asString(tool.type))) return badValue(tool.type, toolTypes, `${at}.type`)
  if (tool.type === 'namespace') {
    if (typeof tool.name !== 'string') return missingField(`${at}.name`)
    for (const [index, inner] of asList(tool.tools).entries()) {
      const error = checkTool(asObject(inner), `${at}.tools[${index}]`)
      if (error) return error
    }
    return undefined
  }
  if (tool.type !== 'function' && tool.type !== 'custom') return undefined
  if (typeof tool.name !== 'string') return missingField(`${at}.name`)
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name)) {
    const words = `Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
    return fieldError(words, `${at}.name`, 'invalid_value')
  }
  if (tool.type === 'custom' || tool.strict !== true) return undefined
  return checkStrict({
    schema: tool.parameters,
    owner: `function '${tool.name}'`,
    param: `${at}.parameters`,
    code: 'invalid_function_parameters',
  })
}
