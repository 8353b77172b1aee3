import { toBase64 } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import { decodeError } from '../../formats/chat/error.ts'
import { complain } from '../../formats/chat/validate.ts'
import type { Usage } from '../../formats/ir.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { leftover, takeAny, takeString, unread } from '../../formats/shared/json-fields.ts'
import { arrayOf, bodyCheck, validateBody } from '../../formats/shared/validate.ts'
import { expectedAudio, expectedSpeech } from '../expected-use.ts'
import type { FieldTypes } from '../multipart/form.ts'
import { decodeSeconds, decodeUsage, tapEvents, toEvent } from '../openai-media.ts'
import type { Dialect } from '../operation.ts'
import {
  mediaTypeOf,
  type SpeechRequest,
  type SpeechResponse,
  type TranscriptionRequest,
  type TranscriptionResponse,
} from './request.ts'
import { toWav } from './wav.ts'

const word = z.string().nullish()
const words = arrayOf(z.string(), 'an array of strings').nullish()
const file = z.looseObject({ filename: z.string() }, { error: 'a file' })

const upload = {
  file,
  model: z.string().min(1),
  prompt: word,
  response_format: word,
  temperature: z.number().min(0).max(1).nullish(),
}

const translationSchema = z.looseObject(upload)
const transcriptionSchema = z.looseObject({
  ...upload,
  language: word,
  languages: words,
  keywords: words,
  include: words,
  timestamp_granularities: words,
  known_speaker_names: words,
  known_speaker_references: words,
  stream: z.boolean().nullish(),
})

const uploadFields: FieldTypes = {
  file: 'file',
  model: 'text',
  prompt: 'text',
  response_format: 'text',
  temperature: 'number',
  language: 'text',
  languages: 'list',
  keywords: 'list',
  include: 'list',
  timestamp_granularities: 'list',
  known_speaker_names: 'list',
  known_speaker_references: 'list',
  chunking_strategy: 'text',
  stream: 'boolean',
}

const speechSchema = z.looseObject({
  model: z.string().min(1),
  input: z.string().min(1),
  voice: z.union([z.string().min(1), z.looseObject({})], { error: 'one of a string or an object' }),
  instructions: word,
  response_format: word,
  speed: z.number().min(0.25).max(4).nullish(),
  stream_format: word,
})

type TranscriptionDialect = Dialect<TranscriptionRequest, TranscriptionResponse>
type SpeechDialect = Dialect<SpeechRequest, SpeechResponse>

const decodeUpload =
  (task: TranscriptionRequest['task']) =>
  (body: JsonObject): TranscriptionRequest => {
    const { model: _, stream: _s, ...rest } = unread(body)
    const file = takeAny(rest, 'file')
    const data = isObject(file) && typeof file.data === 'string' ? file.data : ''
    return {
      task,
      audio: { data, mediaType: mediaTypeOf(file) },
      format: takeString(rest, 'response_format') ?? 'json',
      settings: leftover(rest) ?? {},
    }
  }

const encodeUsage = ({ input, output }: Usage): JsonObject => {
  const audio = input.audio ?? 0
  return {
    type: 'tokens',
    input_tokens: input.total,
    input_token_details: { text_tokens: Math.max(0, input.total - audio), audio_tokens: audio },
    output_tokens: output.total,
    total_tokens: input.total + output.total,
  }
}

const transcript: Omit<TranscriptionDialect, 'name' | 'errors'> = {
  passes: 'any',
  expectedUse: expectedAudio,

  encodeResponse: ({ text, usage }) => ({ text, ...(usage === undefined ? {} : { usage: encodeUsage(usage) }) }),

  encodeBody: ({ text }, { request }) =>
    request.format === 'text' ? { body: text, contentType: 'text/plain; charset=utf-8' } : undefined,

  toEvents({ text, usage, logprobs }) {
    if (typeof text !== 'string') throw noText()
    return [
      toEvent({ type: 'transcript.text.delta', delta: text }),
      toEvent({
        type: 'transcript.text.done',
        text,
        ...(logprobs === undefined ? {} : { logprobs }),
        ...(usage === undefined ? {} : { usage }),
      }),
      { data: '[DONE]' },
    ]
  },

  isResponse: ({ text, segments, words }) => text !== undefined || segments !== undefined || words !== undefined,
  tapResponse(body) {
    if (isObject(body.error) && body.text === undefined) return { error: decodeError(200, body) }
    const out: ReturnType<TranscriptionDialect['tapResponse']> = {}
    put(out, 'usage', decodeUsage(body.usage))
    put(out, 'units', decodeSeconds(body.usage, body.duration))
    return out
  },
}

const noText = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream responded without a transcript.')

/** `/audio/transcriptions` in OpenAI's dialect, which Groq, Mistral and most others share. */
export const transcriptions: TranscriptionDialect = {
  name: 'openai',
  errors: 'chat',
  form: {
    types: uploadFields,
    validate: (body) => void validateBody(transcriptionSchema, body, complain),
  },
  decodeRequest: decodeUpload('transcribe'),
  ...transcript,
  tapStream: () => tapEvents({ done: 'transcript.text.done', units: ({ usage }) => decodeSeconds(usage, undefined) }),
}

/** `/audio/translations`: speech to English text. It has no streams. */
export const translations: TranscriptionDialect = {
  name: 'openai',
  errors: 'chat',
  form: { types: uploadFields, validate: (body) => void validateBody(translationSchema, body, complain) },
  decodeRequest: decodeUpload('translate'),
  ...transcript,
}

/** Counts code points: providers bill characters, not UTF-16 units. */
const charactersIn = (input: Json | undefined): number => (typeof input === 'string' ? [...input].length : 0)

/** `/audio/speech` in OpenAI's dialect. */
export const speech: SpeechDialect = {
  name: 'openai',
  errors: 'chat',
  passes: 'media',
  validate: bodyCheck(speechSchema, complain),
  streams: (body) => body.stream_format === 'sse',
  unitsOf: ({ input }) => ({ characters: charactersIn(input) }),
  expectedUse: ({ input }) => expectedSpeech(charactersIn(input)),

  decodeRequest(body) {
    const { model: _, stream_format: _f, ...rest } = unread(body)
    return {
      input: takeString(rest, 'input') ?? '',
      voice: takeString(rest, 'voice'),
      format: takeString(rest, 'response_format'),
      instructions: takeString(rest, 'instructions'),
      settings: leftover(rest) ?? {},
    }
  },

  encodeResponse: (answer, { request }) => {
    const { usage } = answer
    return {
      audio: toBase64(bytesOf(answer, request)),
      ...(usage === undefined
        ? {}
        : {
            usage: {
              input_tokens: usage.input.total,
              output_tokens: usage.output.total,
              total_tokens: usage.input.total + usage.output.total,
            },
          }),
    }
  },

  encodeBody: (answer, { request }) => ({
    body: bytesOf(answer, request),
    contentType: request.format === 'pcm' ? 'audio/pcm' : 'audio/wav',
  }),

  toEvents({ audio, usage }) {
    if (typeof audio !== 'string')
      throw new GatewayError('upstream_bad_response', 'The upstream responded without audio.')
    return [
      toEvent({ type: 'speech.audio.delta', audio }),
      toEvent({ type: 'speech.audio.done', ...(usage === undefined ? {} : { usage }) }),
      { data: '[DONE]' },
    ]
  },

  tapResponse: (body) => (isObject(body.error) ? { error: decodeError(200, body) } : {}),
  tapStream: () => tapEvents({ done: 'speech.audio.done' }),
}

const bytesOf = ({ samples, rate }: SpeechResponse, { format }: SpeechRequest): Uint8Array =>
  format === 'pcm' ? samples : toWav(samples, rate)
