import type { Api, JsonObject, Piece } from '../formats/format.ts'
import { countOf, errorPiece, failedWithoutWords, objectOf, parseData, textOf } from '../formats/read.ts'

interface ApiOptions extends Pick<Api, 'id' | 'name' | 'readFile'> {
  /** Returns true for a complete response, such as `{ data: [] }`. */
  isAnswer(body: JsonObject): boolean
  /** Type of the event that ends a stream. Absent: it has no streams. */
  readonly lastEvent?: string
  /** Returns the text of a response or an event. Default: none. */
  textIn?(body: JsonObject): string
}

/** Creates the API of an operation in OpenAI's style, without I/O. */
export function createApi({ id, name, readFile, isAnswer, lastEvent, textIn = () => '' }: ApiOptions): Api {
  const pieces = (body: JsonObject, isLast: boolean): readonly Piece[] => {
    if (body.error !== undefined && body.error !== null) return [errorPiece(body, failedWithoutWords)]
    const text = textIn(body)
    return [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...usagePieces(objectOf(body.usage)),
      ...(isLast ? [{ type: 'finish' as const, reason: 'complete' }] : []),
    ]
  }
  return {
    id,
    name,
    credential: (token) => ({ authorization: `Bearer ${token}` }),
    readAnswer: (body) => pieces(body, isAnswer(body)),
    readEvent({ data }) {
      const event = parseData(data)
      return event === undefined ? [] : pieces(event, textOf(event.type) === lastEvent)
    },
    ...(readFile === undefined ? {} : { readFile }),
  }
}

function usagePieces(usage: JsonObject): readonly Piece[] {
  const input = countOf(usage.prompt_tokens) ?? countOf(usage.input_tokens) ?? countOf(usage.total_tokens)
  const output = countOf(usage.completion_tokens) ?? countOf(usage.output_tokens)
  return input === undefined && output === undefined ? [] : [{ type: 'usage', usage: { input, output } }]
}
