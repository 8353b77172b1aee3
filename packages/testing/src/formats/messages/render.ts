import type { Json, JsonObject } from '../../base/json.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { tokenize } from '../../base/tokens.ts'
import type { ScriptedCitation, UsageNumbers } from '../../contract/script.ts'
import { eventPiece, type Piece, pieceOf } from '../../wire/piece.ts'
import type { Answer, AnswerChoice, Block } from '../answer.ts'
import { argumentPieces } from '../chat/render.ts'

const finishWords: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'stop-sequence': 'stop_sequence',
  refusal: 'refusal',
  'content-filter': 'refusal',
  pause: 'pause_turn',
}
const finishOf = (choice: AnswerChoice): string => finishWords[choice.finish] ?? choice.finish

/** Returns the input usage: this format's `input_tokens` excludes cache reads and writes. */
const inputUsage = (usage: UsageNumbers): JsonObject => ({
  input_tokens: Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite),
  cache_creation_input_tokens: usage.cacheWrite,
  cache_read_input_tokens: usage.cacheRead,
})

const fullUsage = (usage: UsageNumbers, output: number): JsonObject => ({
  ...inputUsage(usage),
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cacheWrite - usage.cacheWrite1h,
    ephemeral_1h_input_tokens: usage.cacheWrite1h,
  },
  output_tokens: output,
})
const tail: JsonObject = { service_tier: 'standard', inference_geo: 'not_available' }

const thinkingDetails = (usage: UsageNumbers): JsonObject =>
  usage.reasoning > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {}

const choiceOf = (answer: Answer): AnswerChoice =>
  answer.choices[0] ?? { blocks: [], finish: 'stop', sequence: undefined }

function ending(choice: AnswerChoice): JsonObject {
  const reason = finishOf(choice)
  return {
    stop_reason: reason,
    stop_sequence: choice.sequence ?? null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  }
}

/** Returns the JSON response. */
export function messagesBody(answer: Answer): JsonObject {
  const choice = choiceOf(answer)
  return {
    model: answer.model,
    id: answer.id,
    type: 'message',
    role: 'assistant',
    content: choice.blocks.map(blockBody),
    ...ending(choice),
    usage: { ...fullUsage(answer.usage, answer.usage.output), ...thinkingDetails(answer.usage), ...tail },
  }
}

function blockBody(block: Block): JsonObject {
  switch (block.type) {
    case 'thinking':
      return { type: 'thinking', thinking: block.text, signature: block.signature }
    case 'redacted':
      return { type: 'redacted_thinking', data: block.data }
    case 'tool-call': {
      const input = parseJson(block.input)
      return { type: 'tool_use', id: block.id, name: block.name, input: isObject(input) ? input : {} }
    }
    case 'refusal':
      return { type: 'text', text: block.text }
    case 'text':
      return {
        ...(block.citations.length > 0 ? { citations: block.citations.map(citationBody) } : {}),
        type: 'text',
        text: block.text,
      }
  }
}

const citationBody = (citation: ScriptedCitation): JsonObject => ({
  type: 'char_location',
  cited_text: citation.text,
  document_index: citation.documentIndex,
  document_title: citation.documentTitle,
  start_char_index: citation.start,
  end_char_index: citation.end,
})

/** Yields the stream, from `message_start` to `message_stop`. */
export function* messagesEvents(answer: Answer, padding: boolean): Generator<Piece> {
  const choice = choiceOf(answer)
  let count = 0
  const event = (type: string, rest: JsonObject, paced = false): Piece => {
    const json = JSON.stringify({ type, ...rest })
    // The real API pads with up to 15 spaces before the last brace, so clients cannot compare strings.
    const spaces = padding ? ' '.repeat((count++ * 7) % 16) : ''
    return eventPiece(type, `${json.slice(0, -1)}${spaces}}`, paced)
  }
  const ping = pieceOf('event: ping\ndata: {"type": "ping"}\n\n')
  yield event('message_start', {
    message: {
      model: answer.model,
      id: answer.id,
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: { ...fullUsage(answer.usage, Math.min(1, answer.usage.output)), ...tail },
    },
  })
  if (choice.blocks.length === 0) yield ping
  for (const [index, block] of choice.blocks.entries()) {
    yield event('content_block_start', { index, content_block: blockStart(block) })
    if (index === 0) yield ping
    for (const [delta, paced] of blockDeltas(block)) yield event('content_block_delta', { index, delta }, paced)
    yield event('content_block_stop', { index })
  }
  yield event('message_delta', {
    delta: ending(choice),
    usage: { ...inputUsage(answer.usage), output_tokens: answer.usage.output, ...thinkingDetails(answer.usage) },
  })
  yield event('message_stop', {})
}

function blockStart(block: Block): JsonObject {
  switch (block.type) {
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'redacted':
      return { type: 'redacted_thinking', data: block.data }
    case 'tool-call':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} }
    case 'refusal':
      return { type: 'text', text: '' }
    case 'text':
      return block.citations.length > 0 ? { citations: [], type: 'text', text: '' } : { type: 'text', text: '' }
  }
}

function* blockDeltas(block: Block): Generator<[delta: JsonObject, paced: boolean]> {
  switch (block.type) {
    case 'thinking':
      for (const thinking of tokenize(block.text)) yield [{ type: 'thinking_delta', thinking }, true]
      yield [{ type: 'signature_delta', signature: block.signature }, false]
      return
    case 'redacted':
      return
    case 'tool-call': {
      yield [{ type: 'input_json_delta', partial_json: '' }, false]
      // A call without arguments streams nothing more: the empty text means `{}`.
      const input: Json | undefined = parseJson(block.input)
      if (isObject(input) && Object.keys(input).length === 0) return
      for (const text of argumentPieces(block.input)) yield [{ type: 'input_json_delta', partial_json: text }, true]
      return
    }
    case 'refusal':
    case 'text':
      if (block.type === 'text') {
        for (const citation of block.citations) {
          yield [{ type: 'citations_delta', citation: citationBody(citation) }, false]
        }
      }
      for (const text of tokenize(block.text)) yield [{ type: 'text_delta', text }, true]
  }
}
