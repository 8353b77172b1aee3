import { parseJson } from '../json.ts'
import type { Exchange } from '../recorded-traffic.ts'
import { chatBody, chatStream } from './chat.ts'
import type { ResponseContent } from './content.ts'
import { geminiChunks, readGemini } from './gemini.ts'
import { messagesBody, messagesStream } from './messages.ts'
import { readResponsesBody, readResponsesStream } from './responses.ts'

/**
 * Reads the content of a recorded response from its bytes; returns undefined if the response is incomplete.
 * @param doneOptional the vendor ends streams with the finish reason, without `[DONE]`
 */
export function readRecording(
  { format, stream, answer }: Pick<Exchange, 'format' | 'stream' | 'answer'>,
  doneOptional = false,
): ResponseContent | undefined {
  switch (format) {
    case 'chat':
      return stream ? chatStream(answer, doneOptional) : chatBody(answer)
    case 'messages':
      return stream ? messagesStream(answer) : messagesBody(answer)
    case 'gemini':
      return stream ? readGemini(geminiChunks(answer)) : readGemini([parseJson(answer)], true)
    case 'responses':
      return stream ? readResponsesStream(answer) : readResponsesBody(parseJson(answer))
  }
}
