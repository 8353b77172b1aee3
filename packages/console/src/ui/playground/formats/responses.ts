import type { Format, Json, JsonObject, Piece, Question, Turn } from './format.ts'
import {
  audioFormat,
  countOf,
  dataUrl,
  errorPiece,
  failedWithoutWords,
  isOnlyResults,
  listOf,
  objectOf,
  parseData,
  resultText,
  textOf,
  textPieces,
} from './read.ts'

/** OpenAI's Responses. The whole conversation is sent each time, and nothing is stored at the provider. */
export const responses: Format = {
  id: 'responses',
  name: 'Responses',
  lacks: ['stop', 'seed'],
  build(turns, { model, system, temperature, maxTokens, topP, effort, schema, stream, tools }) {
    const body: JsonObject = { model, input: turns.flatMap(itemsOf), store: false }
    if (system !== '') body.instructions = system
    if (temperature !== undefined) body.temperature = temperature
    if (maxTokens !== undefined) body.max_output_tokens = maxTokens
    if (topP !== undefined) body.top_p = topP
    if (effort !== undefined) body.reasoning = { effort }
    if (schema !== undefined) body.text = { format: { type: 'json_schema', name: 'response', schema } }
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

function itemsOf(turn: Turn): Json[] {
  if (turn.role === 'assistant') {
    const calls = turn.toolCalls.map(({ id, name, input }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: input === '' ? '{}' : input,
    }))
    return turn.text === '' ? calls : [{ role: 'assistant', content: turn.text }, ...calls]
  }
  const results = (turn.results ?? []).map((result) => ({
    type: 'function_call_output',
    call_id: result.call.id,
    output: resultText(result),
  }))
  return isOnlyResults(turn) ? results : [...results, userItem(turn)]
}

function userItem({ text, images, files = [] }: Question): Json {
  if (images.length + files.length === 0) return { role: 'user', content: text }
  const content: Json[] = images.map((image) => ({ type: 'input_image', image_url: dataUrl(image) }))
  for (const file of files)
    content.push(
      file.type === 'application/pdf'
        ? { type: 'input_file', filename: file.name, file_data: dataUrl(file) }
        : { type: 'input_audio', input_audio: { data: file.data, format: audioFormat(file.type) } },
    )
  if (text !== '') content.push({ type: 'input_text', text })
  return { role: 'user', content }
}

const isCall = ({ type }: JsonObject): boolean => type === 'function_call' || type === 'custom_tool_call'

function readData(event: JsonObject): readonly Piece[] {
  const index = countOf(event.output_index) ?? 0
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return textPieces('text', event.delta)
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return textPieces('reasoning', event.delta)
    case 'response.reasoning_summary_part.added':
      return countOf(event.summary_index) ? textPieces('reasoning', '\n\n') : []
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
    const texts = [...listOf(item.summary), ...listOf(item.content)].map(({ text }) => textOf(text))
    return textPieces('reasoning', texts.join('\n\n'))
  }
  return listOf(item.content).flatMap(({ text, refusal }) => textPieces('text', text ?? refusal))
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
