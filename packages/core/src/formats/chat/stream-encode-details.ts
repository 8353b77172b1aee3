import type { JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ReasoningPart } from '../ir.ts'
import { encodeDetail, needsDetails } from './reasoning.ts'

/** Sends `reasoning_details` in a stream: the official accumulators keep the last value of a field they do not know, so each time the whole list. */
export interface DetailsSender {
  /** A piece of reasoning has ended. */
  add(part: ReasoningPart): void
  /** The answer has ended. */
  finish(): void
}

/** Characters of repeated lists that any answer may take. */
const freeChars = 65_536
/** How often the characters of the list may have been sent in all. */
const mostRepeats = 4

/** Sent after each piece, the lists of an answer with very many pieces would take quadratic space: then they are sent less often, and at the end. */
export function createDetailsSender(context: ExchangeContext, send: (list: JsonObject[]) => void): DetailsSender {
  const details: ReasoningPart[] = []
  let isNeeded = false
  let isComplete = true
  let size = 0
  let sent = 0

  function sendAll(): void {
    sent += size
    isComplete = true
    send(details.map((detail, position) => encodeDetail(detail, position, context.report)))
  }

  return {
    add(part) {
      details.push(part)
      isNeeded ||= needsDetails(part)
      isComplete = false
      size += sizeOf(part)
      if (isNeeded && sent + size <= freeChars + mostRepeats * size) sendAll()
    },
    finish() {
      if (isNeeded && !isComplete) sendAll()
    },
  }
}

/** About how many characters a piece takes in the list. */
const sizeOf = ({ text, seal, extra }: ReasoningPart): number =>
  100 + text.length + (seal?.data.length ?? 0) + (extra === undefined ? 0 : JSON.stringify(extra).length)
