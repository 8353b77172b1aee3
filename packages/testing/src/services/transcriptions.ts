import type { Json, JsonObject } from '../base/json.ts'
import { listOf, stringOf } from '../base/json.ts'
import { countTokens, tokensOf } from '../base/tokens.ts'
import type { FormPart } from '../contract/request.ts'
import { chat } from '../formats/chat/dialect.ts'
import { logprobOf } from '../formats/chat/render.ts'
import type { Media } from '../formats/dialect.ts'
import { fieldsOf, filesOf } from '../wire/form-fields.ts'
import { dataPiece, type Piece, pieceOf } from '../wire/piece.ts'
import { checkTranscription } from './check-transcriptions.ts'
import type { Service, Serving } from './service.ts'
import { heard, secondsOf, srtOf, type Transcript, timed, verboseOf, vttOf } from './transcript.ts'

const types = { numbers: ['temperature'], booleans: ['stream'] }
/** Tokens per second of audio. */
const perSecond = 10
const nothing: FormPart = { name: 'file', filename: 'nothing', contentType: '', bytes: new Uint8Array() }
const languages: Readonly<Record<string, string>> = { en: 'english', de: 'german', fr: 'french', es: 'spanish' }

const fileOf = ({ form }: Pick<Serving, 'form'>): FormPart => filesOf(form, 'file')[0] ?? nothing

function transcriptOf(serving: Serving): Transcript {
  const { body, script, route } = serving
  const asked = stringOf(body.language)
  const text = script.text ?? heard(fileOf(serving), stringOf(body.prompt), asked)
  // Translations are into English, whatever the source language.
  const english = route.served === 'translations' || asked === ''
  return timed(text, secondsOf(fileOf(serving).bytes).seconds, english ? 'english' : (languages[asked] ?? asked))
}

/** Returns the usage: models billed by time report seconds, the others tokens. */
function usageOf({ model, body, script }: Serving, { text, duration }: Transcript): JsonObject {
  if (/^whisper/.test(model)) return { type: 'duration', seconds: Math.ceil(duration) }
  const spoken = Math.ceil(duration * perSecond)
  const written = countTokens(stringOf(body.prompt))
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
  tokensOf(text).map((token) => {
    const { top_logprobs: _, ...entry } = logprobOf(token, 0)
    return entry
  })

const wantsLogprobs = ({ body }: Serving): boolean => listOf(body.include).includes('logprobs')

const diarized = ({ segments }: Transcript): JsonObject[] =>
  segments.map(({ text, start, end }, index) => ({
    type: 'transcript.text.segment',
    text: ` ${text.trim()}`,
    speaker: index % 2 === 0 ? 'A' : 'B',
    start,
    end,
    id: `seg_${index}`,
  }))

function bodyOf(serving: Serving): JsonObject {
  const transcript = transcriptOf(serving)
  const { text, duration } = transcript
  const { body, route } = serving
  const translating = route.served === 'translations'
  const usage = usageOf(serving, transcript)
  if (body.response_format === 'verbose_json') {
    const granularities = listOf(body.timestamp_granularities).map((value) => stringOf(value))
    const verbose = verboseOf(transcript, translating ? 'translate' : 'transcribe', granularities)
    return translating ? verbose : { ...verbose, usage: { type: 'duration', seconds: Math.ceil(duration) } }
  }
  if (body.response_format === 'diarized_json')
    return { task: 'transcribe', duration, text, segments: diarized(transcript), usage }
  if (translating) return { text }
  return { text, ...(wantsLogprobs(serving) ? { logprobs: logprobsOf(text) } : {}), usage }
}

function mediaOf(serving: Serving): Media | undefined {
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

function* eventsOf(serving: Serving): Generator<Piece> {
  const transcript = transcriptOf(serving)
  const { text } = transcript
  const logprobs = (words: string): JsonObject => (wantsLogprobs(serving) ? { logprobs: logprobsOf(words) } : {})
  if (serving.body.response_format === 'diarized_json')
    for (const segment of diarized(transcript)) yield dataPiece(segment, true)
  else
    for (const delta of tokensOf(text))
      yield dataPiece({ type: 'transcript.text.delta', delta, ...logprobs(delta) }, true)
  yield dataPiece({ type: 'transcript.text.done', text, ...logprobs(text), usage: usageOf(serving, transcript) })
  yield dataPiece('[DONE]')
}

/** OpenAI's Transcriptions: the demo describes the file. */
export const transcriptions: Service = {
  operation: 'transcriptions',
  voice: chat,
  takes: ['multipart/form-data'],
  read: ({ form }) => form && fieldsOf(form, types),
  check: checkTranscription,
  said: ({ body }) => stringOf(body.prompt),
  render: (serving) => ({
    body: () => bodyOf(serving),
    media: () => mediaOf(serving),
    events: () => eventsOf(serving),
  }),
}

export const translations: Service = { ...transcriptions, operation: 'translations', streams: () => false }
