import type { Exchange, JsonObject } from '../../formats/format.ts'
import { countOf, listOf, textOf } from '../../formats/read.ts'
import type { AsCode, Snippet } from '../../inspect/as-code.ts'
import { numberOf } from '../../settings/draft.ts'
import { answerOf, eventsOf } from '../answer.ts'
import { createApi } from '../apis.ts'
import { openAiSnippets } from '../code/openai.ts'
import type { OperationCalls, OperationDraft, ReadDraft } from '../operation.ts'

export interface TranscriptionDraft extends OperationDraft {
  readonly language: string
  readonly prompt: string
  readonly format: string
  readonly temperature: string
  readonly stream: boolean
  /** Times of words, in addition to those of segments. */
  readonly words: boolean
}

const firstDraft: TranscriptionDraft = {
  model: '',
  extra: '',
  language: '',
  prompt: '',
  format: '',
  temperature: '',
  stream: true,
  words: false,
}

const lastEvent = 'transcript.text.done'

/** Events repeat the whole text at the end. */
const textIn = ({ type, delta, text }: JsonObject): string =>
  type === undefined ? textOf(text) : type === 'transcript.text.delta' ? textOf(delta) : ''

const transcriptionApi = createApi({
  id: 'transcription',
  name: 'Transcription',
  isAnswer: ({ text, segments, words }) => text !== undefined || segments !== undefined || words !== undefined,
  lastEvent,
  textIn,
  readFile: (text) => [
    { type: 'text', text },
    { type: 'finish', reason: 'complete' },
  ],
})

/** Response formats that models can stream. */
const streamed = ['', 'json', 'text', 'diarized_json']

export const canStream = ({ format }: Pick<TranscriptionDraft, 'format'>): boolean => streamed.includes(format)

function read(draft: TranscriptionDraft, [file]: readonly File[]): ReadDraft {
  const { language, prompt, format, stream, words } = draft
  const temperature = numberOf(draft.temperature)
  return {
    path: '/v1/audio/transcriptions',
    body: {
      ...(language.trim() === '' ? {} : { language: language.trim() }),
      ...(prompt.trim() === '' ? {} : { prompt: prompt.trim() }),
      ...(format === '' ? {} : { response_format: format }),
      ...(temperature === undefined || temperature === 'wrong' ? {} : { temperature }),
      ...(words && format === 'verbose_json' ? { timestamp_granularities: ['word', 'segment'] } : {}),
      ...(stream && canStream(draft) ? { stream: true } : {}),
    },
    files: file === undefined ? [] : [{ field: 'file', file }],
    wrongs: temperature === 'wrong' ? { temperature: 'Enter a number such as 0.2.' } : {},
    missing: file === undefined ? 'Choose or record an audio file.' : undefined,
  }
}

/** A part of a transcript with its times in seconds. */
export interface TimedText {
  readonly text: string
  readonly start: number | undefined
  readonly end: number | undefined
  readonly speaker: string
}

export interface Transcript {
  readonly text: string
  readonly language: string
  /** In seconds. */
  readonly duration: number | undefined
  readonly segments: readonly TimedText[]
  readonly words: readonly TimedText[]
}

const timed = (part: JsonObject): TimedText => ({
  text: (textOf(part.text) || textOf(part.word)).trim(),
  start: countOf(part.start),
  end: countOf(part.end),
  speaker: textOf(part.speaker),
})

/** Reads a transcript, also one that a stream has sent in part. @param text the text of the pieces */
export function transcriptOf(exchange: Exchange, text: string): Transcript {
  const body = answerOf(exchange) ?? {}
  const events = eventsOf(exchange)
  const segments = [...listOf(body.segments), ...events.filter(({ type }) => type === 'transcript.text.segment')].map(
    timed,
  )
  const last = events.find(({ type }) => type === lastEvent)
  return {
    text: text || textOf(last?.text) || segments.map((segment) => segment.text).join(' '),
    language: textOf(body.language),
    duration: countOf(body.duration),
    segments,
    words: listOf(body.words).map(timed),
  }
}

/** Seconds as minutes and seconds: `1:05.20`. */
export function clock(seconds: number): string {
  // Rounded first: 59.999 seconds are a minute.
  const hundredths = Math.round(seconds * 100)
  const minutes = Math.floor(hundredths / 6000)
  return `${minutes}:${((hundredths - minutes * 6000) / 100).toFixed(2).padStart(5, '0')}`
}

const known = [
  ...['model', 'language', 'prompt', 'response_format', 'temperature', 'timestamp_granularities', 'stream'],
  ...['include', 'chunking_strategy'],
]

const plainFormats = ['text', 'srt', 'vtt']

function snippets(call: AsCode): readonly Snippet[] {
  const { response_format: format, stream } = call.request.body
  const isPlain = plainFormats.includes(textOf(format)) && stream !== true
  return openAiSnippets(isPlain ? { ...call, output: 'text' } : call, {
    method: 'audio.transcriptions.create',
    known,
    ...(isPlain ? { javascript: 'console.log(response)', python: 'print(response)' } : {}),
  })
}

export const transcriptionCalls: OperationCalls<TranscriptionDraft> = {
  firstDraft,
  apis: [transcriptionApi],
  api: () => transcriptionApi,
  read,
  snippets,
}
