import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Output, Reasoning, Sampling, Tool, Turn } from '../ir.ts'
import {
  drop,
  dropNulls,
  leftover,
  putBack,
  take,
  takeArray,
  takeBoolean,
  takeNumber,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../shared/json-fields.ts'
import { loss } from '../shared/report.ts'
import { defaultLevel, efforts, fieldPointers, generatePointers, type Level } from './fields.ts'
import { decodeContent, decodeMessages, systemTurn } from './turns-decode.ts'

type Places = { [irField: string]: string }

/** Decodes the body of `/api/chat`. */
export function decodeRequest(body: JsonObject): ModelRequest {
  const fields = unread(body)
  return complete(fields, decodeMessages(takeArray(fields, 'messages') ?? []), fieldPointers)
}

/** Decodes the body of `/api/generate`: one prompt, with a text of the system. */
export function decodeGenerate(body: JsonObject, context: CodecContext): ModelRequest {
  const fields = unread(body)
  const turns: Turn[] = [
    ...systemTurn(takeString(fields, 'system'), '/system'),
    { role: 'user', parts: decodeContent(fields, '', true, 'prompt'), at: '/prompt' },
  ]
  reportPromptSettings(fields, context)
  return complete(fields, turns, generatePointers)
}

/** Reports settings of a prompt that a chat model does not know. */
function reportPromptSettings(fields: Unread, { report }: CodecContext): void {
  if (takeString(fields, 'suffix')) report.add(loss('/suffix', 'a chat model does not see the text after its response'))
  if (takeBoolean(fields, 'raw') === true)
    report.add(loss('/raw', 'the upstream formats the prompt as a message of the user', 'approximated'))
  if (takeString(fields, 'template'))
    report.add(loss('/template', "the upstream formats the prompt with the model's own template"))
  const earlier = takeArray(fields, 'context') ?? []
  if (earlier.length > 0)
    report.add(loss('/context', 'only the server that encoded an earlier conversation can read it'))
}

/** Decodes the settings that all bodies share. */
function complete(fields: Unread, turns: Turn[], pointers: Places): ModelRequest {
  const at: Places = {}
  const request: ModelRequest = {
    model: takeString(fields, 'model') ?? '',
    turns,
    stream: takeBoolean(fields, 'stream') ?? true,
  }
  put(request, 'sampling', filled(decodeOptions(fields), 'sampling', pointers, at))
  const tools = takeArray(fields, 'tools')
  if (tools !== undefined) {
    request.tools = { list: tools.map((tool, index) => decodeTool(tool, pointer('/tools', index))) }
    at.tools = fieldPointers.tools
    at['tools.list'] = fieldPointers.tools
  }
  put(request, 'reasoning', filled(decodeThink(fields), 'reasoning', pointers, at))
  put(request, 'output', filled(decodeOutput(fields), 'output', pointers, at))
  if (request.output?.logprobs) at['output.topLogprobs'] = fieldPointers['output.topLogprobs']
  dropNulls(fields)
  const extra = leftover(fields)
  if (extra !== undefined) request.extra = { ollama: extra }
  request.at = at
  return request
}

/** Returns undefined for an empty group. Otherwise records the pointers of its fields. */
function filled<T extends object>(group: T, name: string, pointers: Places, at: Places): T | undefined {
  const keys = Object.keys(group)
  for (const key of keys) {
    const field = `${name}.${key}`
    const pointer = pointers[field]
    if (pointer !== undefined) at[field] = pointer
  }
  return keys.length === 0 ? undefined : group
}

/** Takes the options that other formats have, too. */
function decodeOptions(fields: Unread): Sampling {
  const sampling: Sampling = {}
  const options = takeObject(fields, 'options')
  if (options === undefined) return sampling
  const inner = unread(options)
  dropNulls(inner)
  put(sampling, 'temperature', takeNumber(inner, 'temperature'))
  put(sampling, 'topP', takeNumber(inner, 'top_p'))
  // Zero and less switch a setting off, and are the same as none.
  put(sampling, 'topK', positive(takeNumber(inner, 'top_k')))
  put(sampling, 'maxTokens', positive(takeNumber(inner, 'num_predict')))
  const seed = takeNumber(inner, 'seed')
  if (seed !== undefined && seed >= 0) sampling.seed = seed
  put(sampling, 'presencePenalty', takeNumber(inner, 'presence_penalty'))
  put(sampling, 'frequencyPenalty', takeNumber(inner, 'frequency_penalty'))
  const stop = takeString(inner, 'stop')
  put(sampling, 'stop', stop === undefined ? take(inner, 'stop', isStrings) : [stop])
  if (sampling.stop?.length === 0) delete sampling.stop
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'options', rest)
  return sampling
}

const positive = (value: number | undefined): number | undefined =>
  value === undefined || value <= 0 ? undefined : value

const isStrings = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Decodes `think`: whether, or how much, the model reasons. Ollama always sends the reasoning to the client. */
function decodeThink(fields: Unread): Reasoning {
  const { think } = fields
  const level = efforts.find((effort): effort is Level => effort === think)
  if (typeof think === 'boolean' || level !== undefined) drop(fields, 'think')
  if (think === false) return { off: true }
  const effort = think === true ? defaultLevel : level
  return effort === undefined ? {} : { effort, summary: 'auto' }
}

function decodeOutput(fields: Unread): Output {
  const output: Output = {}
  const { format } = fields
  if (format === 'json') output.format = { type: 'json' }
  else if (isObject(format)) output.format = { type: 'json', schema: format }
  if (format === '' || output.format !== undefined) drop(fields, 'format')
  const isWanted = takeBoolean(fields, 'logprobs')
  const alternatives = takeNumber(fields, 'top_logprobs')
  // Without `logprobs`, the number has no meaning.
  if (isWanted === true) output.logprobs = alternatives ?? 0
  return output
}

function decodeTool(source: Json, at: string): Tool {
  if (!isObject(source) || !isObject(source.function))
    return { type: 'native', format: 'ollama', value: isObject(source) ? source : { value: source }, at }
  const fields = unread(source)
  const inner = unread(source.function)
  drop(fields, 'function')
  drop(fields, 'type')
  const tool: Tool = { type: 'function', name: takeString(inner, 'name') ?? '', at }
  put(tool, 'description', takeString(inner, 'description'))
  put(tool, 'schema', takeObject(inner, 'parameters'))
  put(tool, 'strict', takeBoolean(inner, 'strict'))
  const innerRest = leftover(inner)
  if (innerRest !== undefined) putBack(fields, 'function', innerRest)
  const rest = leftover(fields)
  if (rest !== undefined) tool.extra = { ollama: rest }
  return tool
}
