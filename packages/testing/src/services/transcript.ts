import type { JsonObject } from '../base/json.ts'
import { wavDuration } from '../base/media-type.ts'
import { tokenize } from '../base/tokens.ts'
import type { FormPart } from '../contract/request.ts'

/** A segment of a transcript, in seconds. */
export interface TranscriptSegment {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** A transcript. */
export interface Transcript {
  readonly text: string
  /** In seconds. */
  readonly duration: number
  readonly language: string
  /** One per sentence. */
  readonly segments: readonly TranscriptSegment[]
  readonly words: readonly TranscriptSegment[]
}

/** Assumed rate of audio that is no WAV. */
const bytesPerSecond = 16_000

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000

/** Returns the duration of audio in seconds, and whether it is only estimated. */
export function audioDuration(bytes: Uint8Array): { readonly seconds: number; readonly guessed: boolean } {
  const known = wavDuration(bytes)
  return { seconds: round(known ?? bytes.length / bytesPerSecond), guessed: known === undefined }
}

/** Returns the demo's transcript, which describes the file. */
export function describeAudio({ filename, contentType, bytes }: FormPart, prompt: string, language: string): string {
  const { seconds, guessed } = audioDuration(bytes)
  const type = contentType === '' ? 'of no type' : contentType
  const size = bytes.length.toLocaleString('en-US')
  return [
    `I heard ${guessed ? 'about ' : ''}${seconds.toFixed(2)} seconds of sound.`,
    `The file is “${filename ?? ''}” (${type}, ${size} bytes).`,
    ...(prompt === '' ? [] : [`The prompt was “${prompt}”.`]),
    ...(language === '' ? [] : [`The language was to be “${language}”.`]),
  ].join(' ')
}

/** Spreads a text over its duration. */
export function timedTranscript(text: string, duration: number, language: string): Transcript {
  const letters = Math.max(1, text.length)
  const stretches = (parts: readonly string[]): TranscriptSegment[] => {
    let at = 0
    return parts.map((part) => {
      const start = round((at / letters) * duration)
      at += part.length
      return { text: part, start, end: round((at / letters) * duration) }
    })
  }
  return {
    text,
    duration,
    language,
    segments: stretches(text.match(/[^.!?]*(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*\s*/gu)?.filter((part) => part !== '') ?? []),
    words: stretches(tokenize(text)),
  }
}

const clock = (seconds: number, comma: string): string => {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const milliseconds = Math.round((seconds % 1) * 1000)
  return `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}${comma}${String(milliseconds).padStart(3, '0')}`
}

const span = ({ start, end }: TranscriptSegment, comma: string): string =>
  `${clock(start, comma)} --> ${clock(end, comma)}`

export const srtOf = ({ segments }: Transcript): string =>
  segments.map((segment, index) => `${index + 1}\n${span(segment, ',')}\n${segment.text.trim()}\n\n`).join('')

export const vttOf = ({ segments }: Transcript): string =>
  `WEBVTT\n\n${segments.map((segment) => `${span(segment, '.')}\n${segment.text.trim()}\n\n`).join('')}`

/** Returns `verbose_json`, with the parts that `timestamp_granularities` names. */
export function verboseJson(transcript: Transcript, task: string, granularities: readonly string[]): JsonObject {
  const { text, duration, language, segments, words } = transcript
  return {
    task,
    language,
    duration,
    text,
    ...(granularities.includes('word')
      ? { words: words.map(({ text: word, start, end }) => ({ word: word.trim(), start, end })) }
      : {}),
    ...(granularities.length === 0 || granularities.includes('segment')
      ? {
          segments: segments.map((segment, id) => ({
            id,
            seek: 0,
            start: segment.start,
            end: segment.end,
            text: ` ${segment.text.trim()}`,
            tokens: tokenize(segment.text).map((_, index) => 50_364 + index),
            temperature: 0,
            avg_logprob: -0.25,
            compression_ratio: 1.2,
            no_speech_prob: 0.01,
          })),
        }
      : {}),
  }
}
