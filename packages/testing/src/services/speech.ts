import { toBase64 } from '../base/base64.ts'
import { asNumber, asString, isObject } from '../base/json.ts'
import { countTokens } from '../base/tokens.ts'
import { demoSpeech, speechRate, wavHeader } from '../demo/media.ts'
import { chat } from '../formats/chat/dialect.ts'
import {
  badType,
  badValue,
  checkShape,
  fieldError,
  missingField,
  type RequestShape,
  tooLong,
} from '../formats/openai/check-fields.ts'
import type { WireError } from '../wire/errors.ts'
import { dataPiece, type Piece } from '../wire/piece.ts'
import { readJson, type ScriptedRequest, type Service, type ServiceRequest } from './service.ts'

const voices = 'nova shimmer echo onyx fable alloy ash sage coral ballad verse marin cedar'.split(' ')
const shape: RequestShape = {
  numbers: { speed: { kind: 'decimal', min: 0.25, max: 4 } },
  strings: ['input', 'instructions'],
  words: { response_format: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'], stream_format: ['sse', 'audio'] },
  others: ['voice'],
}
const mostLetters = 4096
/** Tokens per second of audio. */
const tokensPerSecond = 20

function check({ body, model }: ServiceRequest): WireError | undefined {
  const error = checkShape(body, shape)
  if (error) return error
  const { input, voice } = body
  if (typeof input !== 'string') return missingField('input')
  if (input === '') {
    const words =
      "Invalid 'input': empty string. Expected a string with minimum length 1, but got an empty string instead."
    return fieldError(words, 'input', 'empty_string')
  }
  if (input.length > mostLetters) return tooLong('input', mostLetters, input.length)
  if (voice === undefined || voice === null) return missingField('voice')
  if (isObject(voice)) return typeof voice.id === 'string' ? undefined : missingField('voice.id')
  if (typeof voice !== 'string') return badType('voice', 'string or object', voice)
  if (!voices.includes(voice)) return badValue(voice, voices, 'voice')
  if (body.stream_format === 'sse' && /^tts-1/.test(model)) {
    return fieldError(
      "Unsupported parameter: 'stream_format' is not supported with this model.",
      'stream_format',
      'unsupported_parameter',
    )
  }
  return undefined
}

const samplesOf = ({ body }: ScriptedRequest): Iterable<Uint8Array> =>
  demoSpeech(asString(body.input), {
    speed: asNumber(body.speed) ?? 1,
    voice: isObject(body.voice) ? asString(body.voice.id) : asString(body.voice),
  })

const bytesOf = (parts: Iterable<Uint8Array>): number => {
  let bytes = 0
  for (const part of parts) bytes += part.length
  return bytes
}

/** Yields raw samples on request, else a WAV: the demo can make no other file, and its content type says so. */
function* filePieces(serving: ScriptedRequest): Generator<Piece> {
  const isRaw = serving.body.response_format === 'pcm'
  if (!isRaw) yield { bytes: wavHeader(bytesOf(samplesOf(serving))), paced: false }
  for (const bytes of samplesOf(serving)) yield { bytes, paced: true }
}

function* events(serving: ScriptedRequest): Generator<Piece> {
  for (const { bytes, paced } of filePieces(serving))
    yield dataPiece({ type: 'speech.audio.delta', audio: toBase64(bytes) }, paced)
  const { body, script } = serving
  const input = script.usage?.input ?? countTokens(`${asString(body.instructions)} ${asString(body.input)}`.trim())
  const seconds = bytesOf(samplesOf(serving)) / (speechRate * 2)
  const output = script.usage?.output ?? Math.ceil(seconds * tokensPerSecond)
  yield dataPiece({
    type: 'speech.audio.done',
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  })
}

/** OpenAI's Speech: a hum for each word. */
export const speech: Service = {
  operation: 'speech',
  conventions: chat,
  contentTypes: ['application/json'],
  read: readJson,
  wantsStream: ({ stream_format: format }) => format === 'sse',
  check,
  directiveText: ({ body }) => asString(body.input),
  render: (serving) => ({
    body: () => ({}),
    media: () => ({
      contentType: serving.body.response_format === 'pcm' ? 'audio/pcm' : 'audio/wav',
      pieces: filePieces(serving),
    }),
    events: () => events(serving),
  }),
}
