import { encodeError as encodeGemini } from '../formats/gemini/error.ts'
import { encodeError as encodeMessages } from '../formats/messages/error.ts'
import type { ErrorEncoder } from '../operations/client-codec.ts'

// Errors for clients whose format an edition does not have. Static imports: bundlers leave out the decoders of the same files.

export const encodeMessagesError: ErrorEncoder = (error, requestId) => encodeMessages(error, requestId).body

export const encodeGeminiError: ErrorEncoder = (error, requestId) => encodeGemini(error, requestId).body
