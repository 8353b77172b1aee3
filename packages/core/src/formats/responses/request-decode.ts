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
import { loss, reportUnknown, shapeOf } from '../shared/report.ts'
import { withAddedTools } from '../shared/settings-changes.ts'
import { meaningfulFields } from './content.ts'
import {
  fieldPointers,
  includeValues,
  isEffort,
  reasoningSummaries,
  sealedReasoningKey,
  verbosities,
} from './fields.ts'
import type { ItemScope } from './items-decode.ts'
import { decodeFormat } from './output-format.ts'
import { decodeInput, reportStoredState } from './request-decode-turns.ts'
import { isDeferred } from './settings-changes.ts'
import { addLoadedTools, decodeChoice, decodeTools } from './tools.ts'

/** JSON Pointers of fields in the body, for reports by codecs of other formats. */
type Places = { [irField: string]: string }

/** Decodes a request, and reports references to stored state that the upstream cannot have. */
export function decodeRequest(body: JsonObject, context: CodecContext): ModelRequest {
  reportStoredState(body, context)
  const fields = unread(body)
  const at: Places = { turns: fieldPointers.turns }
  const request: ModelRequest = {
    model: takeString(fields, 'model') ?? '',
    turns: [],
    stream: takeBoolean(fields, 'stream') ?? false,
    at,
  }
  decodeToolFields(fields, request, context)
  decodeTurns(fields, request, context)
  put(request, 'sampling', filled(decodeSampling(fields)))
  put(request, 'reasoning', filled(decodeReasoning(fields, at)))
  put(request, 'output', filled(decodeOutput(fields, at)))
  const user: NonNullable<ModelRequest['user']> = {}
  put(user, 'id', takeString(fields, 'user'))
  put(user, 'cacheKey', takeString(fields, 'prompt_cache_key'))
  put(user, 'safetyId', takeString(fields, 'safety_identifier'))
  put(request, 'user', filled(user))
  put(request, 'metadata', take(fields, 'metadata', isStrings))
  put(request, 'serviceTier', takeString(fields, 'service_tier'))
  put(request, 'cache', decodeCacheOptions(fields))
  dropDefaults(fields)
  const extra = leftover(fields)
  if (extra !== undefined) request.extra = { responses: extra }
  return request
}

const isStrings = (value: Json): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((item) => typeof item === 'string')

const filled = <T extends object>(group: T): T | undefined => (Object.keys(group).length === 0 ? undefined : group)

/** Removes fields with their default values. */
function dropDefaults(fields: Unread): void {
  dropNulls(fields)
  if (fields.background === false) drop(fields, 'background')
  if (fields.truncation === 'disabled') drop(fields, 'truncation')
  if (fields.top_logprobs === 0) drop(fields, 'top_logprobs')
}

/** The instructions become a system turn before all others. Its pointer makes the encoder write `instructions` again. */
function decodeTurns(fields: Unread, request: ModelRequest, context: CodecContext): void {
  const keepsIds = context.upstream === undefined || context.upstream === 'responses'
  if (!keepsIds) reportItemFields(fields.input, context)
  const scope: ItemScope = {
    context,
    tools: request.tools,
    keepIds: keepsIds,
    keepStates: keepsIds,
    reportedFields: reportedOnce,
  }
  const { turns, loadedTools } = decodeInput(fields.input, scope)
  drop(fields, 'input')
  addLoadedTools(request, loadedTools)
  put(request, 'tools', withAddedTools(request.tools, turns, isDeferred))
  const instructions = takeString(fields, 'instructions')
  const at = pointer('', 'instructions')
  if (instructions !== undefined && instructions !== '')
    turns.unshift({ role: 'system', parts: [{ type: 'text', text: instructions, at }], at })
  request.turns = turns
}

const reportedOnce = ['id', 'status', 'phase'] as const

/** Reports item fields once for all items, since agents repeat them in every item of a long conversation. */
function reportItemFields(input: Json | undefined, { report }: CodecContext): void {
  if (!Array.isArray(input)) return
  for (const key of reportedOnce) {
    const first = input.findIndex((item) => isObject(item) && item[key] !== undefined && item.type !== 'item_reference')
    if (first >= 0)
      report.add(loss(`/input/${first}/${key}`, `an item's ${key} is not sent to the upstream`, 'unsupported', 'note'))
  }
}

function decodeSampling(fields: Unread): Sampling {
  const sampling: Sampling = {}
  put(sampling, 'maxTokens', takeNumber(fields, 'max_output_tokens'))
  put(sampling, 'temperature', takeNumber(fields, 'temperature'))
  put(sampling, 'topP', takeNumber(fields, 'top_p'))
  // Not in the specification, but servers echo them in responses.
  put(sampling, 'presencePenalty', takeNumber(fields, 'presence_penalty'))
  put(sampling, 'frequencyPenalty', takeNumber(fields, 'frequency_penalty'))
  return sampling
}

function decodeToolFields(fields: Unread, request: ModelRequest, context: CodecContext): void {
  const list = takeArray(fields, 'tools')
  if (context.upstream !== undefined && context.upstream !== 'responses') reportNamespaces(list ?? [], context)
  const tools: NonNullable<ModelRequest['tools']> = { list: decodeTools(list ?? [], '/tools') }
  const choice = fields.tool_choice == null ? undefined : decodeChoice(fields.tool_choice, tools)
  if (choice !== undefined) {
    if (isObject(fields.tool_choice)) reportUnknown(fields.tool_choice, choiceShape, '/tool_choice', context.report)
    drop(fields, 'tool_choice')
  }
  const parallel = takeBoolean(fields, 'parallel_tool_calls')
  if (list === undefined && choice === undefined && parallel === undefined) return
  put(tools, 'choice', choice)
  put(tools, 'parallel', parallel)
  request.tools = tools
}

const choiceShape = shapeOf({
  type: true,
  name: true,
  namespace: true,
  mode: true,
  tools: { type: true, name: true, namespace: true },
})

/** Other formats get a namespace's members under flattened names. Reports the namespace's other fields, which they lack. */
function reportNamespaces(tools: readonly Json[], { report }: CodecContext): void {
  for (const [index, tool] of tools.entries()) {
    if (!isObject(tool) || tool.type !== 'namespace') continue
    const { type: _type, name: _name, tools: _tools, ...others } = tool
    for (const key of Object.keys(others))
      report.add(loss(`/tools/${index}/${key}`, `a namespace's ${key} has no counterpart`, 'unsupported', 'note'))
  }
}

function decodeReasoning(fields: Unread, at: Places): Reasoning {
  const reasoning: Reasoning = {}
  const source = takeObject(fields, 'reasoning')
  if (source === undefined) return reasoning
  const inner = unread(source)
  put(reasoning, 'effort', take(inner, 'effort', isEffort))
  const summary = take(inner, 'summary', isSummary)
  const old = take(inner, 'generate_summary', isSummary)
  put(reasoning, 'summary', summary ?? old)
  if (summary === undefined && old !== undefined) at['reasoning.summary'] = '/reasoning/generate_summary'
  else if (old !== undefined && old !== summary) putBack(inner, 'generate_summary', old)
  const rest = meaningfulFields(inner)
  if (rest !== undefined) putBack(fields, 'reasoning', rest)
  return reasoning
}

const isSummary = (value: Json): value is (typeof reasoningSummaries)[number] =>
  reasoningSummaries.some((word) => word === value)
const isVerbosity = (value: Json): value is (typeof verbosities)[number] => verbosities.some((word) => word === value)

function decodeOutput(fields: Unread, at: Places): Output {
  const output: Output = {}
  const text = takeObject(fields, 'text')
  if (text !== undefined) {
    const inner = unread(text)
    decodeFormat(inner, output)
    put(output, 'verbosity', take(inner, 'verbosity', isVerbosity))
    const rest = meaningfulFields(inner)
    if (rest !== undefined) putBack(fields, 'text', rest)
  }
  decodeInclude(fields, output, at)
  return output
}

/** Decodes `include`. Values that the IR knows are removed; the others stay for upstreams of this format. */
function decodeInclude(fields: Unread, output: Output, at: Places): void {
  const list = takeArray(fields, 'include')
  if (list === undefined) return
  const rest = list.filter((entry, index) => {
    if (entry === includeValues.sealedReasoning) at[sealedReasoningKey] = pointer('/include', index)
    else if (entry === includeValues.logprobs) {
      output.logprobs = takeNumber(fields, 'top_logprobs') ?? 0
      at['output.logprobs'] = pointer('/include', index)
      if (output.logprobs > 0) at['output.topLogprobs'] = fieldPointers['output.topLogprobs']
    } else return true
    return false
  })
  if (rest.length > 0) putBack(fields, 'include', rest)
}
