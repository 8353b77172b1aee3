import { chat } from './chat.ts'
import type { Format } from './format.ts'
import { gemini } from './gemini.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

/** Add new formats here. */
export const formats: readonly [Format, ...Format[]] = [chat, messages, gemini, responses]

export const formatNamed = (id: string): Format => formats.find((format) => format.id === id) ?? formats[0]
