import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ModelRequest } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { isOwnClient } from './fields.ts'
import { encodeChoice } from './tool-choice.ts'
import { encodeTools } from './tools.ts'

/** What changes from one response to the next, and from its beginning to its end. */
export interface Frame {
  id: string
  model: string
  createdAt: number
}

/** Whoever keeps an answer gives it its name; upstreams that keep nothing give theirs twice. */
export const responseId = (id: string, { kept, upstream, newId }: ExchangeContext): string =>
  id === '' || (kept !== undefined && upstream !== 'responses') ? newId('resp_') : id

/**
 * A response without its output: every key that clients insist on, the request's settings among them. `own` are the
 * settings an upstream of this format repeated itself: they win.
 */
export function encodeEnvelope(frame: Frame, own: JsonObject | undefined, context: ExchangeContext): JsonObject {
  const out = withOwn(encodeSettings(context), own)
  out.id = frame.id
  out.object = 'response'
  out.created_at = frame.createdAt
  out.status = 'in_progress'
  out.completed_at = null
  out.error = null
  out.incomplete_details = null
  out.model = frame.model
  out.output = []
  out.usage = null
  return out
}

/** Adds to the settings themselves: a copy of so many fields costs ten times what they cost to make and to write out. */
export const withOwn = (settings: JsonObject, own: JsonObject = {}): JsonObject =>
  // Assigned, this one name would be lost.
  Object.hasOwn(own, '__proto__') ? { ...settings, ...own } : Object.assign(settings, own)

function encodeSettings(context: ExchangeContext): JsonObject {
  const { request } = context
  const { sampling, reasoning, output, tools, user } = request
  const asked = isOwnClient(request) ? (request.extra?.responses ?? {}) : {}
  const quiet = { ...context, report: createReport() }
  const out: JsonObject = {
    background: false,
    frequency_penalty: sampling?.frequencyPenalty ?? 0,
    instructions: instructionsOf(request),
    max_output_tokens: sampling?.maxTokens ?? null,
    max_tool_calls: asked.max_tool_calls ?? null,
    metadata: request.metadata ?? (isObject(asked.metadata) ? asked.metadata : {}),
    parallel_tool_calls: tools?.parallel ?? true,
    presence_penalty: sampling?.presencePenalty ?? 0,
    previous_response_id: context.kept?.previous ?? null,
    prompt_cache_key: user?.cacheKey ?? null,
    reasoning: { effort: reasoning?.off ? 'none' : (reasoning?.effort ?? null), summary: reasoning?.summary ?? null },
    safety_identifier: user?.safetyId ?? null,
    service_tier: request.serviceTier ?? 'default',
    // Whatever was asked: this is what can be fetched again later.
    store: context.kept !== undefined,
    temperature: sampling?.temperature ?? 1,
    text: encodeText(output),
    tool_choice: asked.tool_choice ?? (tools?.choice === undefined ? 'auto' : encodeChoice(tools.choice, tools)),
    tools: tools === undefined ? [] : encodeTools(tools.list, true, quiet).map(echoed),
    top_logprobs: output?.logprobs ?? asked.top_logprobs ?? 0,
    top_p: sampling?.topP ?? 1,
    truncation: asked.truncation ?? 'disabled',
  }
  put(out, 'user', user?.id)
  return out
}

/** A tool as an answer repeats it: clients expect every key of a function. */
const echoed = (tool: JsonObject): JsonObject =>
  tool.type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool

function instructionsOf({ turns }: ModelRequest): string | null {
  const [first] = turns
  const [part] = first?.parts ?? []
  return first?.at === '/instructions' && part?.type === 'text' ? part.text : null
}

function encodeText(output: ModelRequest['output']): JsonObject {
  const { format, verbosity } = output ?? {}
  const text: JsonObject = { format: { type: 'text' } }
  if (format?.type === 'json') {
    const { schema, name, description, strict } = format
    if (schema === undefined) text.format = { type: 'json_object' }
    else
      text.format = {
        type: 'json_schema',
        name: name ?? 'response',
        description: description ?? null,
        schema,
        strict: strict ?? false,
      }
  }
  put(text, 'verbosity', verbosity)
  return text
}
