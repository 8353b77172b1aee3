import type { Answer, Format, Json, JsonObject, Piece, Question, Turn, Usage } from './format.ts'
import {
  audioFormat,
  countOf,
  dataUrl,
  errorPiece,
  failedWithoutWords,
  inputText,
  isOnlyResults,
  listOf,
  objectOf,
  parseData,
  resultText,
  textOf,
  textPieces,
} from './read.ts'

/** OpenAI's Chat Completions. */
export const chat: Format = {
  id: 'chat',
  name: 'Chat completions',
  lacks: [],
  build(turns, { model, system, temperature, maxTokens, topP, stop, seed, effort, schema, stream, tools }) {
    const messages: Json[] = turns.flatMap(messagesOf)
    const body: JsonObject = {
      model,
      messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
    }
    if (temperature !== undefined) body.temperature = temperature
    if (maxTokens !== undefined) body.max_completion_tokens = maxTokens
    if (topP !== undefined) body.top_p = topP
    if (stop !== undefined) body.stop = [...stop]
    if (seed !== undefined) body.seed = seed
    if (effort !== undefined) body.reasoning_effort = effort
    if (schema !== undefined) body.response_format = { type: 'json_schema', json_schema: { name: 'response', schema } }
    if (tools.length > 0)
      body.tools = tools.map(({ name, description, schema }) => ({
        type: 'function',
        function: { name, description, parameters: schema },
      }))
    if (stream) {
      body.stream = true
      // Without this option no stream of this format reports usage.
      body.stream_options = { include_usage: true }
    }
    return { path: '/v1/chat/completions', headers: { 'content-type': 'application/json' }, body }
  },
  credential: (token) => ({ authorization: `Bearer ${token}` }),
  readEvent({ data }) {
    const chunk = parseData(data)
    return chunk === undefined ? [] : readBody(chunk, 'delta')
  },
  readAnswer: (body) => readBody(body, 'message'),
}

function messagesOf(turn: Turn): Json[] {
  if (turn.role === 'assistant') return [assistantMessage(turn)]
  const results = (turn.results ?? []).map((result) => ({
    role: 'tool',
    tool_call_id: result.call.id,
    content: resultText(result),
  }))
  return isOnlyResults(turn) ? results : [...results, userMessage(turn)]
}

function assistantMessage({ text, toolCalls }: Answer): Json {
  if (toolCalls.length === 0) return { role: 'assistant', content: text }
  const calls = toolCalls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input === '' ? '{}' : input },
  }))
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls }
}

function userMessage(turn: Question): Json {
  return { role: 'user', content: turn.images.length === 0 && turn.files === undefined ? turn.text : partsOf(turn) }
}

const partsOf = ({ text, images, files = [] }: Question): Json[] => [
  ...images.map((image) => ({ type: 'image_url', image_url: { url: dataUrl(image) } })),
  ...files.map((file) =>
    file.type === 'application/pdf'
      ? { type: 'file', file: { filename: file.name, file_data: dataUrl(file) } }
      : { type: 'input_audio', input_audio: { data: file.data, format: audioFormat(file.type) } },
  ),
  ...(text === '' ? [] : [{ type: 'text', text }]),
]

function readBody(body: JsonObject, where: 'delta' | 'message'): readonly Piece[] {
  if (body.error !== undefined && body.error !== null) return [errorPiece(body, failedWithoutWords)]
  const choice = listOf(body.choices)[0] ?? {}
  const message = objectOf(choice[where])
  return [
    ...textPieces('reasoning', message.reasoning_content ?? message.reasoning),
    ...textPieces('text', message.content),
    ...textPieces('text', message.refusal),
    ...listOf(message.tool_calls).map(callOf),
    ...(textOf(choice.finish_reason) === '' ? [] : [{ type: 'finish' as const, reason: textOf(choice.finish_reason) }]),
    ...usageOf(objectOf(body.usage)),
  ]
}

/** Deltas number the calls; whole responses list them. */
function callOf(call: JsonObject, at: number): Piece {
  const { name, arguments: whole, input } = { ...objectOf(call.custom), ...objectOf(call.function) }
  return {
    type: 'tool-call',
    index: countOf(call.index) ?? at,
    ...(textOf(call.id) === '' ? {} : { id: textOf(call.id) }),
    ...(textOf(name) === '' ? {} : { name: textOf(name) }),
    input: inputText(whole ?? input),
  }
}

function usageOf(usage: JsonObject): readonly Piece[] {
  const input = countOf(usage.prompt_tokens)
  const output = countOf(usage.completion_tokens)
  if (input === undefined && output === undefined) return []
  const reported: Usage = {
    input,
    output,
    cached: countOf(objectOf(usage.prompt_tokens_details).cached_tokens),
    reasoning: countOf(objectOf(usage.completion_tokens_details).reasoning_tokens),
  }
  return [{ type: 'usage', usage: reported }]
}
