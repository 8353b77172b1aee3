import type { Operation } from '../operation.ts'
import { geminiSpeech, geminiTranscription } from './gemini.ts'
import * as openai from './openai.ts'
import type { SpeechRequest, SpeechResponse, TranscriptionRequest, TranscriptionResponse } from './request.ts'

const usageOf = ({ usage }: TranscriptionResponse | SpeechResponse) => usage

/** Speech to text in the spoken language. */
export const transcriptions: Operation<TranscriptionRequest, TranscriptionResponse> = {
  name: 'transcriptions',
  dialects: [openai.transcriptions, geminiTranscription],
  usageOf,
}

/** Speech to English text. */
export const translations: Operation<TranscriptionRequest, TranscriptionResponse> = {
  name: 'translations',
  dialects: [openai.translations, geminiTranscription],
  usageOf,
}

/** Text to speech. */
export const speech: Operation<SpeechRequest, SpeechResponse> = {
  name: 'speech',
  dialects: [openai.speech, geminiSpeech],
  usageOf,
}
