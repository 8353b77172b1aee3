import type { Format, Json, JsonObject, Piece, Turn } from './format.ts'
import { countOf, dataUrl, errorPiece, failedWithoutWords, listOf, objectOf, parseData, said, textOf } from './read.ts'

/** OpenAI's Responses. The whole conversation is sent each time, and nothing is stored at the provider. */
export const responses: Format = {
  id: 'responses',
  name: 'Responses',
  build(turns, { model, system, temperature, maxTokens, stream, tools }) {
    const body: JsonObject = { model, input: turns.map(itemOf), store: false }
    if (system !== '') body.instructions = system
    if (temperature !== undefined) body.temperature = temperature
    if (maxTokens !== undefined) body.max_output_tokens = maxTokens
    if (tools.length > 0)
      body.tools = tools.map(({ name, description, schema }) => ({
        type: 'function',
        name,
        description,
        parameters: schema,
        // Strict mode would require a restricted schema.
        strict: false,
      }))
    if (stream) body.stream = true
    return { path: '/v1/responses', headers: { 'content-type': 'application/json' }, body }
  },
  credential: (token) => ({ authorization: `Bearer ${token}` }),
  readEvent({ data }) {
    const event = parseData(data)
    return event === undefined ? [] : readData(event)
  },
  readAnswer: (body) => [...listOf(body.output).flatMap(outputOf), ...endingOf(body)],
}

function itemOf(turn: Turn): Json {
  if (turn.role === 'assistant') return { role: 'assistant', content: turn.text }
  const { text, images } = turn
  if (images.length === 0) return { role: 'user', content: text }
  const content: Json[] = images.map((image) => ({ type: 'input_image', image_url: dataUrl(image) }))
  if (text !== '') content.push({ type: 'input_text', text })
  return { role: 'user', content }
}

const isCall = ({ type }: JsonObject): boolean => type === 'function_call' || type === 'custom_tool_call'

function readData(event: JsonObject): readonly Piece[] {
  const index = countOf(event.output_index) ?? 0
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return said('text', event.delta)
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return said('reasoning', event.delta)
    case 'response.reasoning_summary_part.added':
      return countOf(event.summary_index) ? said('reasoning', '\n\n') : []
    case 'response.output_item.added': {
      const item = objectOf(event.item)
      return isCall(item)
        ? [{ type: 'tool-call', index, id: textOf(item.call_id), name: textOf(item.name), input: '' }]
        : []
    }
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return [{ type: 'tool-call', index, input: textOf(event.delta) }]
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      return endingOf(objectOf(event.response))
    case 'error':
      return [errorPiece(event, failedWithoutWords)]
    default:
      return []
  }
}

function outputOf(item: JsonObject, index: number): readonly Piece[] {
  if (isCall(item)) {
    const input = textOf(item.arguments ?? item.input)
    return [{ type: 'tool-call', index, id: textOf(item.call_id), name: textOf(item.name), input }]
  }
  if (item.type === 'reasoning') {
    const told = [...listOf(item.summary), ...listOf(item.content)].map(({ text }) => textOf(text))
    return said('reasoning', told.join('\n\n'))
  }
  return listOf(item.content).flatMap(({ text, refusal }) => said('text', text ?? refusal))
}

/** Returns the usage and finish reason of a completed response. */
function endingOf(response: JsonObject): readonly Piece[] {
  const reason = textOf(objectOf(response.incomplete_details).reason) || textOf(response.status)
  const failed = response.error !== undefined && response.error !== null
  return [
    ...usageOf(objectOf(response.usage)),
    ...(reason === '' ? [] : [{ type: 'finish' as const, reason }]),
    ...(failed ? [errorPiece(response, failedWithoutWords)] : []),
  ]
}

function usageOf(usage: JsonObject): readonly Piece[] {
  const input = countOf(usage.input_tokens)
  const output = countOf(usage.output_tokens)
  if (input === undefined && output === undefined) return []
  const cached = countOf(objectOf(usage.input_tokens_details).cached_tokens)
  const reasoning = countOf(objectOf(usage.output_tokens_details).reasoning_tokens)
  return [{ type: 'usage', usage: { input, output, cached, reasoning } }]
}
