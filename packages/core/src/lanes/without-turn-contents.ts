import type { ModelRequest, Part, Turn } from '../formats/ir.ts'
import { reasoningIn } from '../formats/shared/response-losses.ts'

/**
 * Returns a copy of the request without the contents of its turns, for use while its response streams. Otherwise the stream would keep the
 * whole conversation in memory. Kept are what response codecs read: settings, tools, names of tools, and the turn that responses repeat.
 *
 * A request with reasoning is returned as it is: an upstream may reject reasoning by its place in the request that was sent, and the request
 * is encoded again to find that place.
 *
 * @param repeatedTurn see `ClientCodec`
 */
export function withoutTurnContents(request: ModelRequest, repeatedTurn: string | undefined): ModelRequest {
  if (reasoningIn(request).length > 0) return request
  const isRepeated = ({ at }: Turn): boolean => at !== undefined && at === repeatedTurn
  return { ...request, turns: request.turns.map((turn) => (isRepeated(turn) ? turn : withoutContents(turn))) }
}

function withoutContents(turn: Turn): Turn {
  const { role, parts, changes } = turn
  const kept: Turn = { role, parts: parts.flatMap(namesOfTools) }
  if (changes !== undefined) kept.changes = changes
  return kept
}

/** Returns a part with the name of a tool, without its other contents. */
function namesOfTools(part: Part): Part[] {
  if (part.type === 'tool-call') return [{ type: 'tool-call', id: part.id, name: part.name, input: '' }]
  if (part.type !== 'tool-result' || part.name === undefined) return []
  return [{ type: 'tool-result', callId: part.callId, name: part.name, parts: [] }]
}
