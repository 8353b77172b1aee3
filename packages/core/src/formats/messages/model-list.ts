import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { parseWholeNumber } from '../../base/json/parse.ts'
import type { Effort } from '../ir.ts'
import type { ModelDescription } from '../model-card.ts'

/**
 * Encodes a model for Anthropic's list of models. An unknown release date is the epoch, which is Anthropic's own convention. Unknown
 * limits and capabilities are null.
 */
export function encodeModel(model: ModelDescription): JsonObject {
  const { id, name, contextWindow, maxInput = contextWindow, maxOutput } = model
  return {
    type: 'model',
    id,
    display_name: name ?? id,
    created_at: '1970-01-01T00:00:00Z',
    capabilities: encodeCapabilities(model),
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: maxInput ?? null,
    max_tokens: maxOutput ?? null,
    retires_at: null,
  }
}

const support = (supported: boolean): JsonObject => ({ supported })
const unsupported = support(false)

/**
 * Encodes the capabilities of a model, as @anthropic-ai/sdk 1.14 declares them: clients expect every member. Null unless all facts that a
 * card can state are known. Capabilities that a card cannot state are false, because the gateway does not promise them.
 */
function encodeCapabilities({ modalities, capabilities = {}, efforts }: ModelDescription): JsonObject | null {
  const { reasoning, reasoningBudget, structuredOutputs } = capabilities
  const { input } = modalities ?? {}
  if (input === undefined || structuredOutputs === undefined || reasoning === undefined) return null
  const accepts = (effort: Effort): JsonObject => support(efforts?.includes(effort) === true)
  const hasEfforts = efforts?.some((effort) => effort !== 'none') === true
  return {
    batch: unsupported,
    citations: unsupported,
    code_execution: unsupported,
    context_management: {
      supported: false,
      clear_thinking_20251015: unsupported,
      clear_tool_uses_20250919: unsupported,
      compact_20260112: unsupported,
    },
    effort: {
      supported: hasEfforts,
      low: accepts('low'),
      medium: accepts('medium'),
      high: accepts('high'),
      xhigh: accepts('xhigh'),
      max: accepts('max'),
    },
    image_input: support(input.includes('image')),
    pdf_input: support(input.includes('document')),
    server_tools: { supported: false, code_execution: unsupported, web_search: unsupported },
    structured_outputs: support(structuredOutputs),
    thinking: {
      supported: reasoning,
      types: {
        adaptive: support(reasoning && hasEfforts),
        between_tools: unsupported,
        // A budget for a model that accepts efforts only becomes the nearest effort.
        disabled: support(!reasoning || efforts === undefined || efforts.includes('none')),
        enabled: support(reasoning && reasoningBudget !== false),
      },
    },
  }
}

const pageSize = 20
const largestPage = 1000

/** Returns a page of at most `limit` models (default 20, maximum 1000) after `after_id` or before `before_id`. */
export function encodeModelList(
  names: readonly string[],
  describe: (name: string) => ModelDescription,
  query: URLSearchParams,
): JsonObject {
  const limit = decodeLimit(query.get('limit'))
  const after = indexOfModel(names, 'after_id', query)
  const before = indexOfModel(names, 'before_id', query)
  if (after !== undefined && before !== undefined)
    throw invalidParameter('before_id', 'after_id and before_id cannot be combined')
  const start = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const end = before ?? Math.min(names.length, start + limit)
  const page = names.slice(start, end)
  return {
    data: page.map((name) => encodeModel(describe(name))),
    // `has_more` counts in the requested direction.
    has_more: before === undefined ? end < names.length : start > 0,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  }
}

function decodeLimit(text: string | null): number {
  if (text === null) return pageSize
  const limit = parseWholeNumber(text)
  if (limit === undefined)
    throw invalidParameter('limit', 'Input should be a valid integer, unable to parse string as an integer')
  if (limit < 1) throw invalidParameter('limit', 'Input should be greater than or equal to 1')
  if (limit > largestPage) throw invalidParameter('limit', `Input should be less than or equal to ${largestPage}`)
  return limit
}

function indexOfModel(names: readonly string[], key: string, query: URLSearchParams): number | undefined {
  const id = query.get(key)
  if (id === null) return undefined
  const index = names.indexOf(id)
  if (index < 0) throw invalidParameter(key, `this list does not contain the model '${id.slice(0, 100)}'`)
  return index
}

const invalidParameter = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: ${message}`, { param })
