import type { JsonObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { eventPiece, type Piece } from '../../wire/piece.ts'
import type { AnswerChoice } from '../answer.ts'
import type { RenderedAnswer, RenderInput } from '../dialect.ts'
import { keep } from '../memory.ts'
import { echoRequest, responseUsage } from './echo.ts'
import { conversationOf } from './input.ts'
import { compactionItem, type Item, itemsOf } from './items.ts'
import { listedInput } from './stored.ts'

interface Ending {
  readonly status: string
  readonly event: string
  readonly reason: string | undefined
}

const endings: Readonly<Record<string, Ending>> = {
  length: { status: 'incomplete', event: 'response.incomplete', reason: 'max_output_tokens' },
  'content-filter': { status: 'incomplete', event: 'response.incomplete', reason: 'content_filter' },
  failed: { status: 'failed', event: 'response.failed', reason: undefined },
}
const natural = new Set(['stop', 'tool-calls', 'stop-sequence', 'refusal', 'pause', 'completed'])

function endingOf(finish: string): Ending {
  const ending = endings[finish]
  if (ending) return ending
  return { status: natural.has(finish) ? 'completed' : finish, event: 'response.completed', reason: undefined }
}

export function renderResponses(generated: RenderInput): RenderedAnswer {
  const { answer, request, now } = generated
  if (generated.route.operation === 'compact') return { body: () => windowOf(generated), events: () => [] }
  const choice: AnswerChoice = answer.choices[0] ?? { blocks: [], finish: 'stop', sequence: undefined }
  const ending = endingOf(choice.finish)
  const items = itemsOf(choice.blocks, generated, ending.status === 'incomplete')
  const snapshot = (more: JsonObject): JsonObject => ({
    id: answer.id,
    object: 'response',
    created_at: answer.created,
    ...echoRequest(request, answer.model),
    ...more,
  })
  const open = { status: 'in_progress', completed_at: null, error: null, incomplete_details: null }
  const started = (): JsonObject => snapshot({ ...open, output: [], usage: null })
  const done = (): JsonObject =>
    snapshot({
      status: ending.status,
      completed_at: ending.status === 'completed' ? Math.floor(now() / 1000) : null,
      error: ending.status === 'failed' ? { code: 'server_error', message: 'The model failed to respond.' } : null,
      incomplete_details: ending.reason === undefined ? null : { reason: ending.reason },
      output: items.map((item) => item.done),
      service_tier: 'default',
      usage: responseUsage(answer.usage),
    })
  const remember = (): void => rememberAnswer(generated, items, done)
  return {
    body() {
      remember()
      return { ...done(), billing: { payer: 'developer' } }
    },
    *events(): Generator<Piece> {
      let count = 0
      const event = (type: string, data: JsonObject, paced = false): Piece =>
        eventPiece(type, { type, ...data, sequence_number: count++ }, paced)
      yield event('response.created', { response: started() })
      yield event('response.in_progress', { response: started() })
      for (const [index, item] of items.entries()) {
        yield event('response.output_item.added', { item: item.start, output_index: index })
        for (const { event: type, data, word } of item.steps) {
          const hidden: JsonObject = word && isObfuscated(generated) ? { obfuscation: generated.ids.letters(14) } : {}
          yield event(type, { ...data, ...hidden, item_id: item.id, output_index: index }, word)
        }
        yield event('response.output_item.done', { item: item.done, output_index: index })
      }
      remember()
      yield event(ending.event, { response: done() })
    },
    *failure(error: WireError, sent: number): Generator<Piece> {
      const { message } = error
      const code = error.code ?? error.type ?? 'server_error'
      const reported = { type: error.type ?? 'server_error', code, message, param: error.param ?? null }
      yield eventPiece('error', { type: 'error', error: reported, sequence_number: sent })
      const response = snapshot({ ...open, status: 'failed', error: { code, message }, output: [], usage: null })
      yield eventPiece('response.failed', { type: 'response.failed', response, sequence_number: sent + 1 })
    },
  }
}

/** Returns the window of a compacted conversation: the messages of the user, and the compacted state. */
function windowOf(generated: RenderInput): JsonObject {
  const { answer, request, memory } = generated
  const messages = conversationOf(request, memory).filter((item) => item.role === 'user')
  return {
    id: answer.id,
    object: 'response.compaction',
    created_at: answer.created,
    output: [...messages, compactionItem(generated).done],
    usage: responseUsage(answer.usage),
  }
}

/** Returns true if random letters accompany each delta. */
const isObfuscated = ({ request, padding }: RenderInput): boolean => {
  const options = request.stream_options
  const off = typeof options === 'object' && options !== null && 'include_obfuscation' in options
  return padding && !(off && options.include_obfuscation === false)
}

/** Stores the response for requests that refer to it, and the reasoning that its items need. */
function rememberAnswer(
  { answer, request, memory }: RenderInput,
  items: readonly Item[],
  done: () => JsonObject,
): void {
  let reasoning: string | undefined
  for (const item of items) {
    if (item.done.type === 'reasoning') reasoning = item.id
    else if (reasoning !== undefined) {
      keep(memory.reasonings, item.id, reasoning)
      reasoning = undefined
    }
  }
  if (request.store === false) return
  for (const item of items) keep(memory.items, item.id, item.done)
  keep(memory.stored, answer.id, { response: done(), input: listedInput(request.input, answer.id) })
  keep(memory.conversations, answer.id, [...conversationOf(request, memory), ...items.map((item) => item.done)])
}
