import type { FakeFormat } from '../contract/request.ts'
import { chat } from './chat/dialect.ts'
import type { Dialect } from './dialect.ts'
import { gemini } from './gemini/dialect.ts'
import { messages } from './messages/dialect.ts'
import { responses } from './responses/dialect.ts'

/** Dialect of each format. */
export const dialects: Readonly<Record<FakeFormat, Dialect>> = { chat, messages, gemini, responses }
