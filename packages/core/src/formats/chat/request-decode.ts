import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Output, Reasoning, Sampling } from '../ir.ts'
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
import { decodeCacheOptions } from '../shared/prompt-cache.ts'
import { fieldPointers, isEffort, summaries, verbosities } from './fields.ts'
import { decodeChoice, decodeFunction, decodeTool, legacyPointer } from './tools.ts'
import { decodeMessages } from './turn-decode.ts'

/** Records the JSON Pointer of a field, for reports of other codecs. */
type Places = { [irField: string]: string }

export function decodeRequest(body: JsonObject, context: CodecContext): ModelRequest {
  const fields = unread(body)
  const at: Places = {}
  const request: ModelRequest = {
    model: takeString(fields, 'model') ?? '',
    turns: decodeMessages(takeArray(fields, 'messages') ?? [], context),
    stream: takeBoolean(fields, 'stream') ?? false,
  }
  put(request, 'sampling', filled(decodeSampling(fields, at), 'sampling', at))
  decodeTools(fields, request, at)
  put(request, 'reasoning', filled(decodeReasoningWish(fields, at, context), 'reasoning', at))
  put(request, 'output', filled(decodeOutput(fields, at), 'output', at))
  const user: NonNullable<ModelRequest['user']> = {}
  put(user, 'id', takeString(fields, 'user'))
  put(user, 'cacheKey', takeString(fields, 'prompt_cache_key'))
  put(request, 'cache', decodeCacheOptions(fields))
  put(user, 'safetyId', takeString(fields, 'safety_identifier'))
  put(request, 'user', filled(user, 'user', at))
  put(request, 'metadata', take(fields, 'metadata', isStrings))
  if (request.metadata !== undefined) at.metadata = fieldPointers.metadata
  put(request, 'serviceTier', takeString(fields, 'service_tier'))
  if (request.serviceTier !== undefined) at.serviceTier = fieldPointers.serviceTier
  dropNulls(fields)
  const extra = leftover(fields)
  if (extra !== undefined) request.extra = { chat: extra }
  request.at = at
  return request
}

const isStrings = (value: Json): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((item) => typeof item === 'string')
const isNumbers = (value: Json): value is Record<string, number> =>
  isObject(value) && Object.values(value).every((item) => typeof item === 'number')

/** Returns undefined for an empty group. Otherwise records the pointers of its fields. */
function filled<T extends object>(group: T, name: string, at: Places): T | undefined {
  let any = false
  for (const key in group) {
    any = true
    const field = irField(name, key)
    at[field] ??= (fieldPointers as Places)[field] ?? `/${key}`
  }
  return any ? group : undefined
}

const irFields: { [group: string]: { [key: string]: string } } = {}

/** Returns names like `sampling.maxTokens`, cached because concatenated names are slow to look up. */
function irField(group: string, key: string): string {
  irFields[group] ??= {}
  irFields[group][key] ??= `${group}.${key}`
  return irFields[group][key]
}

function decodeSampling(fields: Unread, at: Places): Sampling {
  const sampling: Sampling = {}
  put(sampling, 'temperature', takeNumber(fields, 'temperature'))
  put(sampling, 'topP', takeNumber(fields, 'top_p'))
  put(sampling, 'topK', takeNumber(fields, 'top_k'))
  put(sampling, 'seed', takeNumber(fields, 'seed'))
  put(sampling, 'logitBias', take(fields, 'logit_bias', isNumbers))
  put(sampling, 'presencePenalty', takeNumber(fields, 'presence_penalty'))
  put(sampling, 'frequencyPenalty', takeNumber(fields, 'frequency_penalty'))
  put(sampling, 'choices', takeNumber(fields, 'n'))
  const stop = takeString(fields, 'stop')
  if (stop !== undefined) sampling.stop = [stop]
  else put(sampling, 'stop', take(fields, 'stop', isStringList))
  const current = takeNumber(fields, 'max_completion_tokens')
  const old = takeNumber(fields, 'max_tokens')
  put(sampling, 'maxTokens', current ?? old)
  if (current === undefined) at['sampling.maxTokens'] = '/max_tokens'
  else if (old !== undefined && old !== current) putBack(fields, 'max_tokens', old)
  if (sampling.maxTokens === undefined) delete at['sampling.maxTokens']
  return sampling
}

const isStringList = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

function decodeTools(fields: Unread, request: ModelRequest, at: Places): void {
  const list = takeArray(fields, 'tools')
  const functions = list === undefined ? takeArray(fields, 'functions') : undefined
  const legacyChoice = list === undefined ? fields.function_call : undefined
  const wireChoice = fields.tool_choice ?? legacyChoice
  const choice = wireChoice === undefined ? undefined : decodeChoice(wireChoice)
  const choiceKey = fields.tool_choice == null ? 'function_call' : 'tool_choice'
  if (choice !== undefined || fields[choiceKey] === null) drop(fields, choiceKey)
  const parallel = takeBoolean(fields, 'parallel_tool_calls')
  if (list === undefined && functions === undefined && choice === undefined && parallel === undefined) return
  const tools: NonNullable<ModelRequest['tools']> = { list: [] }
  if (list !== undefined) tools.list = list.map((tool, index) => decodeTool(tool, pointer('/tools', index)))
  else if (functions !== undefined)
    tools.list = functions.map((tool, index) => {
      const inner = unread(isObject(tool) ? tool : {})
      const decoded = decodeFunction(inner)
      decoded.at = pointer(legacyPointer, index)
      const rest = leftover(inner)
      if (rest !== undefined) decoded.extra = { chat: { function: rest } }
      return decoded
    })
  put(tools, 'choice', choice)
  put(tools, 'parallel', parallel)
  request.tools = tools
  at.tools = functions === undefined ? fieldPointers.tools : legacyPointer
  at['tools.list'] = at.tools
  if (choice !== undefined) at['tools.choice'] = `/${choiceKey}`
  if (parallel !== undefined) at['tools.parallel'] = fieldPointers['tools.parallel']
}

/** Decodes `reasoning_effort`, and the object that clients of OpenRouter and Qwen send with it or instead of it. */
function decodeReasoningWish(fields: Unread, at: Places, context: CodecContext): Reasoning {
  const reasoning: Reasoning = {}
  put(reasoning, 'effort', take(fields, 'reasoning_effort', isEffort))
  decodeThinking(fields, reasoning, at, context)
  const object = takeObject(fields, 'reasoning')
  if (object === undefined) return reasoning
  const inner = unread(object)
  const effort = take(inner, 'effort', isEffort)
  if (effort !== undefined && reasoning.effort === undefined) {
    reasoning.effort = effort
    at['reasoning.effort'] = '/reasoning/effort'
  } else if (effort !== undefined && effort !== reasoning.effort) putBack(inner, 'effort', effort)
  put(reasoning, 'budgetTokens', takeNumber(inner, 'max_tokens'))
  put(reasoning, 'summary', takeWord(inner, 'summary', summaries))
  if (inner.enabled === false) {
    reasoning.off = true
    drop(inner, 'enabled')
  } else if (inner.enabled === true && reasoning.effort === undefined && reasoning.budgetTokens === undefined) {
    // It adds nothing to an effort or a budget.
    reasoning.adaptive = true
    drop(inner, 'enabled')
  }
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'reasoning', rest)
  return reasoning
}

/** Decodes Anthropic's `thinking` object, which clients of gateways write (Envoy AI Gateway, LiteLLM). Chat upstreams get it unchanged. */
function decodeThinking(fields: Unread, reasoning: Reasoning, at: Places, { upstream }: CodecContext): void {
  if (upstream === undefined || upstream === 'chat') return
  const object = takeObject(fields, 'thinking')
  if (object === undefined) return
  const inner = unread(object)
  const { type } = inner
  if (type === 'enabled') {
    const budget = takeNumber(inner, 'budget_tokens')
    if (budget === undefined) reasoning.adaptive = true
    else reasoning.budgetTokens = budget
  } else if (type === 'adaptive') reasoning.adaptive = true
  else if (type === 'disabled') reasoning.off = true
  if (type === 'enabled' || type === 'adaptive' || type === 'disabled') drop(inner, 'type')
  const display = takeWord(inner, 'display', ['summarized', 'omitted'])
  if (display !== undefined) reasoning.summary = display === 'omitted' ? 'none' : 'auto'
  const places = { budgetTokens: 'budget_tokens', adaptive: 'type', off: 'type', summary: 'display' } as const
  for (const [field, member] of Object.entries(places))
    if (reasoning[field as keyof typeof places] !== undefined) at[`reasoning.${field}`] = `/thinking/${member}`
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'thinking', rest)
}

function takeWord<W extends string>(fields: Unread, key: string, words: readonly W[]): W | undefined {
  return take(fields, key, (value): value is W => words.some((word) => word === value))
}

function decodeOutput(fields: Unread, at: Places): Output {
  const output: Output = {}
  decodeFormat(fields, output)
  put(output, 'modalities', take(fields, 'modalities', isStringList))
  put(output, 'audio', takeObject(fields, 'audio'))
  put(output, 'verbosity', takeWord(fields, 'verbosity', verbosities))
  // Without `logprobs: true` the upstream rejects the number.
  const wanted = takeBoolean(fields, 'logprobs')
  if (wanted) {
    output.logprobs = takeNumber(fields, 'top_logprobs') ?? 0
    if (output.logprobs > 0) at['output.topLogprobs'] = fieldPointers['output.topLogprobs']
  }
  const options = takeObject(fields, 'stream_options')
  if (options !== undefined) {
    const inner = unread(options)
    put(output, 'includeUsage', takeBoolean(inner, 'include_usage'))
    const rest = leftover(inner)
    if (rest !== undefined) putBack(fields, 'stream_options', rest)
  }
  return output
}

function decodeFormat(fields: Unread, output: Output): void {
  const format = takeObject(fields, 'response_format')
  if (format === undefined) return
  const outer = unread(format)
  const type = takeString(outer, 'type')
  if (type === 'text' && leftover(outer) === undefined) output.format = { type: 'text' }
  else if (type === 'json_object' && leftover(outer) === undefined) output.format = { type: 'json' }
  else if (type === 'json_schema' && isObject(outer.json_schema)) {
    const inner = unread(outer.json_schema)
    const json: Extract<NonNullable<Output['format']>, { type: 'json' }> = { type: 'json' }
    put(json, 'name', takeString(inner, 'name'))
    put(json, 'description', takeString(inner, 'description'))
    put(json, 'schema', takeObject(inner, 'schema'))
    put(json, 'strict', takeBoolean(inner, 'strict'))
    drop(outer, 'json_schema')
    const more = leftover(inner)
    if (more !== undefined) putBack(outer, 'json_schema', more)
    output.format = json
    const rest = leftover(outer)
    if (rest !== undefined) putBack(fields, 'response_format', rest)
  } else putBack(fields, 'response_format', format)
}
