import type { Exchange, Json, JsonObject } from '../formats/format.ts'
import { parseData } from '../formats/read.ts'

/** Returns the body of a response that is one JSON object. Undefined: there is none, or it is a stream. */
export const answerOf = ({ events, status, responseHeaders }: Exchange): JsonObject | undefined =>
  status === undefined || status >= 300 || isStream(responseHeaders) ? undefined : parseData(events[0]?.data ?? '')

const isStream = (headers: Exchange['responseHeaders'] = {}): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true

/** Returns the events of a stream. A response without a stream has none. */
export const eventsOf = ({ events, responseHeaders }: Exchange): readonly JsonObject[] =>
  isStream(responseHeaders)
    ? events.map(({ data }) => parseData(data)).filter((event): event is JsonObject => event !== undefined)
    : []

/** Returns the texts of a request's input. Extra fields may have replaced it. */
export const inputsOf = (input: Json | undefined): readonly string[] =>
  (Array.isArray(input) ? input : input === undefined ? [] : [input]).map((item) =>
    typeof item === 'string' ? item : JSON.stringify(item),
  )
