import type { Json, JsonObject } from '../../base/json.ts'
import { invalidRequest, type WireError } from '../../wire/errors.ts'
import type { Memory } from '../memory.ts'
import type { Route } from '../route.ts'
import { itemsOf } from './input.ts'

/** Returns the input of a request as it is listed later: every text in a part, every item with an id. */
export const listedInput = (input: Json | undefined, responseId: string): JsonObject[] =>
  itemsOf(input).map((item, index) => ({
    id: `msg_${responseId.slice('resp_'.length)}${index}`,
    type: 'message',
    ...item,
    ...(typeof item.content === 'string' ? { content: [{ type: 'input_text', text: item.content }] } : {}),
  }))

/** Distinguishes errors from responses: a response's own status is a string. */
export const isError = (answer: JsonObject | WireError): answer is WireError => typeof answer.status === 'number'

/** Reads, lists or deletes a stored response. */
export function storedResponse(
  { stored, conversations }: Memory,
  { item = '', action, method }: Route,
  query: string,
): JsonObject | WireError {
  const found = stored.get(item)
  if (found === undefined) return invalidRequest(404, `Response with id '${item}' not found.`)
  if (method === 'DELETE') {
    stored.delete(item)
    conversations.delete(item)
    return { id: item, object: 'response', deleted: true }
  }
  if (action !== 'input_items') return found.response
  const parameters = new URLSearchParams(query)
  const ordered = parameters.get('order') === 'asc' ? [...found.input] : [...found.input].reverse()
  const data = ordered.slice(0, Number(parameters.get('limit') ?? 20))
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: data.length < ordered.length,
  }
}
