import type { Operation } from '../operation.ts'
import { gemini as geminiSpeech } from './gemini-speech.ts'
import { gemini as geminiTranscription } from './gemini-transcription.ts'
import * as openai from './openai.ts'
import type { SpeechAnswer, SpeechRequest, TranscriptionAnswer, TranscriptionRequest } from './request.ts'

const usageOf = ({ usage }: TranscriptionAnswer | SpeechAnswer) => usage

/** Speech to text, in the language spoken. */
export const transcriptions: Operation<TranscriptionRequest, TranscriptionAnswer> = {
  name: 'transcriptions',
  dialects: [openai.transcriptions, geminiTranscription],
  usageOf,
}

/** Speech to English text. */
export const translations: Operation<TranscriptionRequest, TranscriptionAnswer> = {
  name: 'translations',
  dialects: [openai.translations, geminiTranscription],
  usageOf,
}

/** Text to speech. */
export const speech: Operation<SpeechRequest, SpeechAnswer> = {
  name: 'speech',
  dialects: [openai.speech, geminiSpeech],
  usageOf,
}
