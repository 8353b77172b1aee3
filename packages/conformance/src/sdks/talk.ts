import type { Format } from '../base/recorded-traffic.ts'
import type { Talker } from './conversation.ts'
import { talkAsChat } from './talk-chat.ts'
import { talkAsGemini } from './talk-gemini.ts'
import { talkAsMessages } from './talk-messages.ts'
import { talkAsResponses } from './talk-responses.ts'

/** The four official clients, each in its own dialect. */
export const talkers: Readonly<Record<Format, Talker>> = {
  chat: talkAsChat,
  messages: talkAsMessages,
  gemini: talkAsGemini,
  responses: talkAsResponses,
}
