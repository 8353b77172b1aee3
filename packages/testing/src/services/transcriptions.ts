import { asList, asString, type Json, type JsonObject } from '../base/json.ts'
import { wavDuration } from '../base/media-type.ts'
import { countTokens, tokenize } from '../base/tokens.ts'
import type { FakeOperation, FormPart } from '../contract/request.ts'
import { chat } from '../formats/chat/dialect.ts'
import { logprobOf } from '../formats/chat/render.ts'
import type { Media } from '../formats/dialect.ts'
import { badValue, checkShape, fieldError, missingField, type RequestShape } from '../formats/openai/check-fields.ts'
import type { WireError } from '../wire/errors.ts'
import { formFields, formFiles } from '../wire/form-fields.ts'
import { dataPiece, type Piece, pieceOf } from '../wire/piece.ts'
import type { ScriptedRequest, Service, ServiceRequest } from './service.ts'
import {
  audioDuration,
  describeAudio,
  srtOf,
  type Transcript,
  timedTranscript,
  verboseJson,
  vttOf,
} from './transcript.ts'

const types = { numbers: ['temperature'], booleans: ['stream'] }
/** Tokens per second of audio. */
const tokensPerSecond = 10
const nothing: FormPart = { name: 'file', filename: 'nothing', contentType: '', bytes: new Uint8Array() }
const languages: Readonly<Record<string, string>> = { en: 'english', de: 'german', fr: 'french', es: 'spanish' }

const fileOf = ({ form }: Pick<ScriptedRequest, 'form'>): FormPart => formFiles(form, 'file')[0] ?? nothing

function transcriptOf(serving: ScriptedRequest): Transcript {
  const { body, script, route } = serving
  const language = asString(body.language)
  const text = script.text ?? describeAudio(fileOf(serving), asString(body.prompt), language)
  // Translations are into English, whatever the source language.
  const english = route.served === 'translations' || language === ''
  return timedTranscript(
    text,
    audioDuration(fileOf(serving).bytes).seconds,
    english ? 'english' : (languages[language] ?? language),
  )
}

/** Returns the usage: models billed by time report seconds, the others tokens. */
function usageOf({ model, body, script }: ScriptedRequest, { text, duration }: Transcript): JsonObject {
  if (/^whisper/.test(model)) return { type: 'duration', seconds: Math.ceil(duration) }
  const spoken = Math.ceil(duration * tokensPerSecond)
  const written = countTokens(asString(body.prompt))
  const input = script.usage?.input ?? spoken + written
  const output = script.usage?.output ?? countTokens(text)
  return {
    type: 'tokens',
    total_tokens: input + output,
    input_tokens: input,
    input_token_details: { text_tokens: input - spoken, audio_tokens: spoken },
    output_tokens: output,
  }
}

const logprobsOf = (text: string): Json[] =>
  tokenize(text).map((token) => {
    const { top_logprobs: _, ...entry } = logprobOf(token, 0)
    return entry
  })

const wantsLogprobs = ({ body }: ScriptedRequest): boolean => asList(body.include).includes('logprobs')

const diarized = ({ segments }: Transcript): JsonObject[] =>
  segments.map(({ text, start, end }, index) => ({
    type: 'transcript.text.segment',
    text: ` ${text.trim()}`,
    speaker: index % 2 === 0 ? 'A' : 'B',
    start,
    end,
    id: `seg_${index}`,
  }))

function bodyOf(serving: ScriptedRequest): JsonObject {
  const transcript = transcriptOf(serving)
  const { text, duration } = transcript
  const { body, route } = serving
  const translating = route.served === 'translations'
  const usage = usageOf(serving, transcript)
  if (body.response_format === 'verbose_json') {
    const granularities = asList(body.timestamp_granularities).map((value) => asString(value))
    const verbose = verboseJson(transcript, translating ? 'translate' : 'transcribe', granularities)
    return translating ? verbose : { ...verbose, usage: { type: 'duration', seconds: Math.ceil(duration) } }
  }
  if (body.response_format === 'diarized_json')
    return { task: 'transcribe', duration, text, segments: diarized(transcript), usage }
  if (translating) return { text }
  return { text, ...(wantsLogprobs(serving) ? { logprobs: logprobsOf(text) } : {}), usage }
}

function mediaOf(serving: ScriptedRequest): Media | undefined {
  const plain = (text: string, contentType = 'text/plain; charset=utf-8'): Media => ({
    contentType,
    pieces: [pieceOf(text)],
  })
  switch (serving.body.response_format) {
    case 'text':
      return plain(`${transcriptOf(serving).text}\n`)
    case 'srt':
      return plain(srtOf(transcriptOf(serving)))
    case 'vtt':
      return plain(vttOf(transcriptOf(serving)), 'text/vtt; charset=utf-8')
    default:
      return undefined
  }
}

function* eventsOf(serving: ScriptedRequest): Generator<Piece> {
  const transcript = transcriptOf(serving)
  const { text } = transcript
  const logprobs = (words: string): JsonObject => (wantsLogprobs(serving) ? { logprobs: logprobsOf(words) } : {})
  if (serving.body.response_format === 'diarized_json')
    for (const segment of diarized(transcript)) yield dataPiece(segment, true)
  else
    for (const delta of tokenize(text))
      yield dataPiece({ type: 'transcript.text.delta', delta, ...logprobs(delta) }, true)
  yield dataPiece({ type: 'transcript.text.done', text, ...logprobs(text), usage: usageOf(serving, transcript) })
  yield dataPiece('[DONE]')
}

/** OpenAI's Transcriptions: the demo describes the file. */
export const transcriptions: Service = {
  operation: 'transcriptions',
  conventions: chat,
  contentTypes: ['multipart/form-data'],
  read: ({ form }) => form && formFields(form, types),
  check: checkTranscription,
  directiveText: ({ body }) => asString(body.prompt),
  render: (serving) => ({
    body: () => bodyOf(serving),
    media: () => mediaOf(serving),
    events: () => eventsOf(serving),
  }),
}

export const translations: Service = { ...transcriptions, operation: 'translations', wantsStream: () => false }

const formats = ['json', 'text', 'srt', 'verbose_json', 'vtt']
const temperature = { kind: 'decimal', min: 0, max: 1 } as const
const shapes: Partial<Record<FakeOperation, RequestShape>> = {
  transcriptions: {
    numbers: { temperature },
    booleans: ['stream'],
    strings: ['language', 'prompt'],
    words: { response_format: [...formats, 'diarized_json'] },
    others: [
      'include',
      'timestamp_granularities',
      'chunking_strategy',
      'known_speaker_names',
      'known_speaker_references',
      'languages',
      'keywords',
    ],
  },
  translations: { numbers: { temperature }, strings: ['prompt'], words: { response_format: formats } },
}
const extensions = ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']
const mostBytes = 26_214_400
const leastSeconds = 0.1

/** Returns OpenAI's error for an invalid transcription request, or undefined. */
function checkTranscription(request: ServiceRequest): WireError | undefined {
  const { body, route, model, form } = request
  const error = checkShape(body, shapes[route.served ?? 'transcriptions'] ?? {})
  if (error) return error
  const file = formFiles(form, 'file')[0]
  if (!file) return missingField('file')
  if (file.bytes.length > mostBytes) {
    const words = `Maximum content size limit (${mostBytes}) exceeded (${file.bytes.length} bytes read)`
    return { ...fieldError(words, undefined), status: 413 }
  }
  const extension = /\.([^.]*)$/.exec(file.filename ?? '')?.[1]?.toLowerCase() ?? ''
  const known = extensions.includes(extension) || extensions.some((name) => file.contentType === `audio/${name}`)
  if (!known || file.bytes.length === 0) {
    const quoted = extensions.map((name) => `'${name}'`).join(', ')
    return fieldError(`Invalid file format. Supported formats: [${quoted}]`, undefined)
  }
  if ((wavDuration(file.bytes) ?? 1) < leastSeconds) {
    const words = `Audio file is too short. Minimum audio length is ${leastSeconds} seconds.`
    return fieldError(words, 'file', 'audio_too_short')
  }
  return checkFormat(request, model)
}

function checkFormat({ body }: ServiceRequest, model: string): WireError | undefined {
  const format = asString(body.response_format, 'json')
  const later = /^gpt-/.test(model)
  const supported = model.includes('diarize') ? ['json', 'text', 'diarized_json'] : later ? ['json', 'text'] : undefined
  if (supported && !supported.includes(format)) {
    const words = `response_format '${format}' is not compatible with model '${model}'. Use ${supported.map((name) => `'${name}'`).join(' or ')} instead.`
    return fieldError(words, 'response_format', 'unsupported_value')
  }
  const granularities = asList(body.timestamp_granularities)
  const strange = granularities.find((value) => value !== 'word' && value !== 'segment')
  if (strange !== undefined) return badValue(strange, ['word', 'segment'], 'timestamp_granularities[]')
  if (granularities.length > 0 && format !== 'verbose_json') {
    const words = "timestamp_granularities is only supported with response_format 'verbose_json'."
    return fieldError(words, 'timestamp_granularities', 'invalid_value')
  }
  const stranger = asList(body.include).find((value) => value !== 'logprobs')
  return stranger === undefined ? undefined : badValue(stranger, ['logprobs'], 'include[]')
}
