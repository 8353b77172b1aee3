import type { Format, Json, JsonObject, Piece, Question, Turn, Usage } from './format.ts'
import {
  countOf,
  dataUrl,
  errorPiece,
  failedWithoutWords,
  inputText,
  listOf,
  objectOf,
  parseData,
  said,
  textOf,
} from './read.ts'

/** OpenAI's Chat Completions. */
export const chat: Format = {
  id: 'chat',
  name: 'Chat completions',
  build(turns, { model, system, temperature, maxTokens, stream, tools }) {
    const messages: Json[] = turns.map(messageOf)
    const body: JsonObject = {
      model,
      messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
    }
    if (temperature !== undefined) body.temperature = temperature
    if (maxTokens !== undefined) body.max_completion_tokens = maxTokens
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

function messageOf(turn: Turn): Json {
  if (turn.role === 'assistant') return { role: 'assistant', content: turn.text }
  return { role: 'user', content: turn.images.length === 0 ? turn.text : partsOf(turn) }
}

const partsOf = ({ text, images }: Question): Json[] => [
  ...images.map((image) => ({ type: 'image_url', image_url: { url: dataUrl(image) } })),
  ...(text === '' ? [] : [{ type: 'text', text }]),
]

function readBody(body: JsonObject, where: 'delta' | 'message'): readonly Piece[] {
  if (body.error !== undefined && body.error !== null) return [errorPiece(body, failedWithoutWords)]
  const choice = listOf(body.choices)[0] ?? {}
  const message = objectOf(choice[where])
  return [
    ...said('reasoning', message.reasoning_content ?? message.reasoning),
    ...said('text', message.content),
    ...said('text', message.refusal),
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
  const told: Usage = {
    input,
    output,
    cached: countOf(objectOf(usage.prompt_tokens_details).cached_tokens),
    reasoning: countOf(objectOf(usage.completion_tokens_details).reasoning_tokens),
  }
  return [{ type: 'usage', usage: told }]
}
