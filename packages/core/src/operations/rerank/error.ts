import { encodeError as encodeChatError } from '../../formats/chat/error.ts'
import type { ErrorInfo, JsonObject } from '../../formats/ir.ts'

/** Cohere's clients read `message`, all others `error`. */
export const encodeError = (error: ErrorInfo, requestId: string): JsonObject => ({
  id: requestId,
  message: error.message,
  ...encodeChatError(error, requestId).body,
})
