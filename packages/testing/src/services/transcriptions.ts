import type { Json, JsonObject } from '../base/json.ts'
import { asList, asString } from '../base/json.ts'
import { countTokens, tokenize } from '../base/tokens.ts'
import type { FormPart } from '../contract/request.ts'
import { chat } from '../formats/chat/dialect.ts'
import { logprobOf } from '../formats/chat/render.ts'
import type { Media } from '../formats/dialect.ts'
import { formFields, formFiles } from '../wire/form-fields.ts'
import { dataPiece, type Piece, pieceOf } from '../wire/piece.ts'
import { checkTranscription } from './check-transcriptions.ts'
import type { ScriptedRequest, Service } from './service.ts'
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
  const asked = asString(body.language)
  const text = script.text ?? describeAudio(fileOf(serving), asString(body.prompt), asked)
  // Translations are into English, whatever the source language.
  const english = route.served === 'translations' || asked === ''
  return timedTranscript(
    text,
    audioDuration(fileOf(serving).bytes).seconds,
    english ? 'english' : (languages[asked] ?? asked),
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
