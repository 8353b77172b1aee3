import type { ErrorInfo } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { encodeError as encodeChatError } from '../../formats/chat/error.ts'

/** Encodes an error for clients of rerank: Cohere's clients read `message`, all others `error`. */
export const encodeError = (error: ErrorInfo, requestId: string): JsonObject => ({
  id: requestId,
  message: error.message,
  ...encodeChatError(error, requestId).body,
})
