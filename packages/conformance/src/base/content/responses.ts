import { type Json, type JsonObject, listOf, numberOf, objectOf, parseJson, textOf } from '../json.ts'
import { eventData, parsedInput, type ResponseContent, type UsageTotals, withUsage } from './content.ts'

function responsesUsage(value: Json | undefined): UsageTotals | undefined {
  const usage = objectOf(value)
  const input = numberOf(usage.input_tokens)
  const output = numberOf(usage.output_tokens)
  if (input === undefined || output === undefined) return undefined
  const cacheRead = numberOf(objectOf(usage.input_tokens_details).cached_tokens)
  const reasoning = numberOf(objectOf(usage.output_tokens_details).reasoning_tokens)
  return {
    input,
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

function itemsOf(items: readonly JsonObject[]): Omit<ResponseContent, 'usage'> {
  const texts = (type: string, list: string, kind: string, key: string): string =>
    items
      .filter((item) => item.type === type)
      .flatMap((item) => listOf(item[list]).map(objectOf))
      .filter((part) => part.type === kind)
      .map((part) => textOf(part[key]))
      .join('')
  return {
    text: texts('message', 'content', 'output_text', 'text'),
    refusal: texts('message', 'content', 'refusal', 'refusal'),
    reasoning:
      texts('reasoning', 'summary', 'summary_text', 'text') + texts('reasoning', 'content', 'reasoning_text', 'text'),
    tools: items.flatMap(callOf),
  }
}

function callOf(item: JsonObject): ResponseContent['tools'] {
  // Tool names are unique only within their namespace.
  const name = typeof item.namespace === 'string' ? `${item.namespace}__${item.name}` : textOf(item.name)
  if (item.type === 'function_call') return [{ name, input: parsedInput(textOf(item.arguments)) }]
  if (item.type === 'custom_tool_call') return [{ name, input: textOf(item.input) }]
  // Only a search that the client executes is a tool call; the server's own searches are not.
  if (item.type === 'tool_search_call' && item.execution === 'client')
    return [{ name: 'tool_search', input: item.arguments ?? {} }]
  return []
}

const unfinished = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

export function readResponsesBody(value: unknown): ResponseContent | undefined {
  const body = objectOf(value)
  if (!Array.isArray(body.output) || unfinished.has(textOf(body.status))) return undefined
  return withUsage(itemsOf(listOf(body.output).map(objectOf)), responsesUsage(body.usage))
}

/**
 * Reads the last event, which repeats the whole response. Some servers leave it empty and send the items one by one.
 */
export function readResponsesStream(stream: string): ResponseContent | undefined {
  const items: JsonObject[] = []
  let answer: JsonObject | undefined
  for (const data of eventData(stream)) {
    const event = objectOf(parseJson(data))
    if (event.type === 'error' || event.type === 'response.failed') return undefined
    if (event.type === 'response.output_item.done') items.push(objectOf(event.item))
    if (event.type === 'response.completed' || event.type === 'response.incomplete') answer = objectOf(event.response)
  }
  if (answer === undefined) return undefined
  return readResponsesBody(listOf(answer.output).length > 0 ? answer : { ...answer, output: items })
}
