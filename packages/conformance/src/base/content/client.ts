import { readEvents } from '../client-events.ts'
import type { ClientFormat } from '../client-formats.ts'
import { type JsonObject, objectOf, parseJson } from '../json.ts'
import type { ResponseContent } from './content.ts'
import { joinConverse, readConverse } from './converse.ts'
import { readOllama } from './ollama.ts'
import { readRecording } from './recording.ts'

type Read = (answer: string, stream: boolean) => ResponseContent | undefined

const converse: Read = (answer, stream) => {
  if (!stream) return readConverse(objectOf(parseJson(answer)))
  const events = readEvents('converse', answer).map(
    ({ event, data }): JsonObject => ({ [event]: objectOf(parseJson(data)) }),
  )
  return readConverse(joinConverse(events) ?? {})
}

const readers: Readonly<Record<ClientFormat, Read>> = {
  chat: (answer, stream) => readRecording({ format: 'chat', stream, answer }),
  messages: (answer, stream) => readRecording({ format: 'messages', stream, answer }),
  gemini: (answer, stream) => readRecording({ format: 'gemini', stream, answer }),
  responses: (answer, stream) => readRecording({ format: 'responses', stream, answer }),
  ollama: (answer) => readOllama(readEvents('ollama', answer).map(({ data }) => parseJson(data))),
  converse,
}

/** Reads a client's response from its text; undefined if it is incomplete. */
export const readResponse = (format: ClientFormat, answer: string, stream: boolean): ResponseContent | undefined =>
  readers[format](answer, stream)
