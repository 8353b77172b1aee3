import type { Answer, Format, Json, JsonObject, Piece, Turn } from './format.ts'
import {
  countOf,
  errorPiece,
  failedWithoutWords,
  inputText,
  listOf,
  objectOf,
  parseData,
  sumOf,
  textOf,
  textPieces,
} from './read.ts'

const maxTokensUnlessSet = 1024

/** Anthropic's Messages. */
export const messages: Format = {
  id: 'messages',
  name: 'Messages',
  lacks: ['seed', 'audio'],
  maxTokensUnlessSet,
  build(turns, { model, system, temperature, maxTokens, topP, stop, effort, schema, stream, tools }) {
    const body: JsonObject = { model, max_tokens: maxTokens ?? maxTokensUnlessSet, messages: turns.map(messageOf) }
    if (system !== '') body.system = system
    if (temperature !== undefined) body.temperature = temperature
    if (topP !== undefined) body.top_p = topP
    if (stop !== undefined) body.stop_sequences = [...stop]
    if (effort !== undefined || schema !== undefined)
      body.output_config = {
        ...(effort === undefined ? {} : { effort }),
        ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
      }
    if (tools.length > 0)
      body.tools = tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema }))
    if (stream) body.stream = true
    return {
      path: '/v1/messages',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body,
    }
  },
  credential: (token) => ({ 'x-api-key': token }),
  readEvent({ data }) {
    const event = parseData(data)
    return event === undefined ? [] : readData(event)
  },
  readAnswer: (body) =>
    body.type === 'error'
      ? [errorPiece(body, failedWithoutWords)]
      : [...listOf(body.content).flatMap(blockOf), ...finishOf(body.stop_reason), ...usageOf(objectOf(body.usage))],
}

function messageOf(turn: Turn): Json {
  if (turn.role === 'assistant') return { role: 'assistant', content: assistantContent(turn) }
  const { text, images, files = [], results = [] } = turn
  if (images.length + files.length + results.length === 0) return { role: 'user', content: text }
  const content: Json[] = results.map(({ call, content, failed }) => ({
    type: 'tool_result',
    tool_use_id: call.id,
    content,
    ...(failed ? { is_error: true } : {}),
  }))
  content.push(
    ...images.map(({ type, data }) => ({ type: 'image', source: { type: 'base64', media_type: type, data } })),
  )
  for (const { name, type, data } of files)
    content.push(
      type === 'application/pdf'
        ? { type: 'document', source: { type: 'base64', media_type: type, data }, title: name }
        : // Only an earlier turn, from another format, gets here: the composer rejects audio for this format.
          { type: 'text', text: `[Audio file ${name}]` },
    )
  if (text !== '') content.push({ type: 'text', text })
  return { role: 'user', content }
}

function assistantContent({ text, reasoning, reasoningSignature, toolCalls }: Answer): Json {
  if (toolCalls.length === 0) return text
  return [
    ...(reasoningSignature === undefined
      ? []
      : [{ type: 'thinking', thinking: reasoning, signature: reasoningSignature }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...toolCalls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input: parseData(input) ?? {} })),
  ]
}

function readData(event: JsonObject): readonly Piece[] {
  switch (event.type) {
    case 'message_start':
      return usageOf(objectOf(objectOf(event.message).usage))
    case 'content_block_start':
      return blockOf(objectOf(event.content_block), countOf(event.index) ?? 0)
    case 'content_block_delta':
      return deltaOf(objectOf(event.delta), countOf(event.index) ?? 0)
    case 'message_delta':
      return [...finishOf(objectOf(event.delta).stop_reason), ...usageOf(objectOf(event.usage))]
    case 'error':
      return [errorPiece(event, failedWithoutWords)]
    default:
      return []
  }
}

function blockOf(block: JsonObject, index: number): readonly Piece[] {
  if (block.type === 'text') return textPieces('text', block.text)
  if (block.type === 'thinking') return [...textPieces('reasoning', block.thinking), ...signatureOf(block.signature)]
  if (block.type !== 'tool_use' && block.type !== 'server_tool_use') return []
  // A streamed call begins with an empty input; its text follows.
  const input = Object.keys(objectOf(block.input)).length === 0 ? '' : inputText(block.input)
  return [{ type: 'tool-call', index, id: textOf(block.id), name: textOf(block.name), input }]
}

function deltaOf(delta: JsonObject, index: number): readonly Piece[] {
  if (delta.type === 'text_delta') return textPieces('text', delta.text)
  if (delta.type === 'thinking_delta') return textPieces('reasoning', delta.thinking)
  if (delta.type === 'signature_delta') return signatureOf(delta.signature)
  return delta.type === 'input_json_delta' ? [{ type: 'tool-call', index, input: textOf(delta.partial_json) }] : []
}

const signatureOf = (signature: Json | undefined): readonly Piece[] =>
  textOf(signature) === '' ? [] : [{ type: 'reasoning-signature', signature: textOf(signature) }]

const finishOf = (reason: Json | undefined): readonly Piece[] =>
  textOf(reason) === '' ? [] : [{ type: 'finish', reason: textOf(reason) }]

/** Cache reads and writes are counted separately from the input. */
function usageOf(usage: JsonObject): readonly Piece[] {
  const { input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
  const input = fresh === undefined ? undefined : sumOf(fresh, read, written)
  const output = countOf(usage.output_tokens)
  if (input === undefined && output === undefined) return []
  const reasoning = countOf(objectOf(usage.output_tokens_details).thinking_tokens)
  return [{ type: 'usage', usage: { input, output, cached: countOf(read), reasoning } }]
}
