import type { Dialect } from './dialect.ts'
import { chat } from './dialect-chat.ts'
import { gemini } from './dialect-gemini.ts'
import { messages } from './dialect-messages.ts'
import { responses } from './dialect-responses.ts'
import type { FakeFormat } from './types.ts'

/** Dialect of each format. */
export const dialects: Readonly<Record<FakeFormat, Dialect>> = { chat, messages, gemini, responses }
