import { fromBase64 } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { copyInCamelCase } from '../../formats/gemini/spelling.ts'
import { finishReasonName, tapResponse } from '../../formats/gemini/tap.ts'
import { decodeUsage } from '../../formats/gemini/usage-decode.ts'
import type { Report } from '../../formats/ir.ts'
import { takeArray, takeNumber, takeString, type Unread, unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { candidateParts, refusalOf } from '../gemini-response.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import type { SpeechRequest, SpeechResponse, TranscriptionRequest, TranscriptionResponse } from './request.ts'
import { fromWav } from './wav.ts'

/** Google's voices that sound most like OpenAI's. Other names are sent unchanged. */
const voices: { readonly [name: string]: string } = {
  alloy: 'Kore',
  ash: 'Charon',
  ballad: 'Enceladus',
  cedar: 'Iapetus',
  coral: 'Aoede',
  echo: 'Puck',
  fable: 'Sulafat',
  marin: 'Callirrhoe',
  nova: 'Leda',
  onyx: 'Orus',
  sage: 'Despina',
  shimmer: 'Zephyr',
  verse: 'Fenrir',
}
const defaultRate = 24_000

/** Speech through generateContent, by models with audio output. */
export const geminiSpeech: Dialect<SpeechRequest, SpeechResponse> = {
  name: 'gemini',
  errors: 'gemini',
  modelInPath: '/{model}:generateContent',

  encodeRequest(request, { report }) {
    const { input, instructions, settings } = request
    const fields = unread(settings)
    reportFormat(request, report)
    if (instructions !== undefined && instructions !== '')
      report.add(loss('/instructions', 'sent in front of the text', 'moved', 'note'))
    if ((takeNumber(fields, 'speed') ?? 1) !== 1)
      report.add(loss('/speed', 'the upstream has no speed setting', 'unsupported'))
    delete fields.voice
    reportUnread(fields, report)
    return {
      contents: [{ role: 'user', parts: [{ text: instructions ? `${instructions}:\n${input}` : input }] }],
      generationConfig: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voiceOf(request, report) } } },
      },
    }
  },

  decodeResponse(body, { request, report }) {
    for (const { part } of candidateParts(body)) {
      const { inlineData } = copyInCamelCase(part)
      const { mimeType, data } = isObject(inlineData) ? copyInCamelCase(inlineData) : {}
      const bytes = typeof data === 'string' ? fromBase64(data) : undefined
      if (bytes === undefined) continue
      const sound = readSound(bytes, typeof mimeType === 'string' ? mimeType : '')
      if (request.format === 'pcm' && sound.rate !== defaultRate)
        report.add(loss('', `the sample rate is ${sound.rate} Hz, not ${defaultRate} Hz`, 'approximated'))
      const usage = decodeUsage(isObject(body) ? copyInCamelCase(body).usageMetadata : undefined)
      return { ...sound, ...(usage === undefined ? {} : { usage }) }
    }
    throw refusalOf(body, 'audio')
  },

  tapResponse,
}

/** Gemini returns samples. The gateway can wrap them in a WAV file, but cannot compress them. */
function reportFormat({ format }: SpeechRequest, report: Report): void {
  if (format === 'wav' || format === 'pcm') return
  if (format === undefined)
    report.add(
      loss('/response_format', 'the audio is returned as wav: the upstream does not support mp3', 'approximated'),
    )
  else
    report.add(
      loss('/response_format', `the upstream does not support ${format}: request wav or pcm`, 'unsupported', 'fatal'),
    )
}

function voiceOf({ voice }: SpeechRequest, report: Report): string {
  if (voice === undefined) {
    report.add(loss('/voice', 'a voice stored at another provider cannot be used', 'unsupported', 'fatal'))
    return ''
  }
  const equivalent = Object.hasOwn(voices, voice) ? voices[voice] : undefined
  if (equivalent === undefined) return voice
  report.add(loss('/voice', `the voice '${equivalent}' replaces '${voice}'`, 'approximated'))
  return equivalent
}

/** Decodes `audio/L16;codec=pcm;rate=24000`, which is little-endian in spite of the RFC, or a WAV file. */
function readSound(bytes: Uint8Array, mediaType: string): { samples: Uint8Array; rate: number } {
  const type = mediaType.toLowerCase()
  if (type.startsWith('audio/l16') || type.startsWith('audio/pcm'))
    return { samples: bytes, rate: Number(/rate=(\d+)/.exec(type)?.[1] ?? defaultRate) }
  const wav = fromWav(bytes)
  if (wav !== undefined) return wav
  throw new GatewayError('upstream_bad_response', `The upstream responded with audio of an unknown type ('${type}').`)
}

const tasks = {
  transcribe: 'Transcribe the speech in this recording word for word, in the language that is spoken.',
  translate: 'Translate the speech in this recording into English.',
} as const

/** Speech to text through generateContent: an instruction asks a general model for a transcript. */
export const geminiTranscription: Dialect<TranscriptionRequest, TranscriptionResponse> = {
  name: 'gemini',
  errors: 'gemini',
  modelInPath: '/{model}:generateContent',

  encodeRequest({ task, audio, format, settings }, { report }) {
    const fields = unread(settings)
    if (format !== 'json' && format !== 'text')
      report.add(
        loss(
          '/response_format',
          `the upstream returns no timestamps or speakers for ${format}: request json or text`,
          'unsupported',
          'fatal',
        ),
      )
    const temperature = takeNumber(fields, 'temperature')
    const text = instruction(task, fields, report)
    // A model that hears the whole recording has no use for a chunking strategy.
    if (fields.chunking_strategy === 'auto') delete fields.chunking_strategy
    reportUnread(fields, report)
    return {
      contents: [{ role: 'user', parts: [{ inlineData: { mimeType: audio.mediaType, data: audio.data } }, { text }] }],
      ...(temperature === undefined ? {} : { generationConfig: { temperature } }),
    }
  },

  decodeResponse(body) {
    const parts = candidateParts(body).flatMap(({ part }) => {
      const { text, thought } = copyInCamelCase(part)
      return typeof text === 'string' && thought !== true ? [text] : []
    })
    const finish = finishOf(body)
    if (finish === 'MAX_TOKENS')
      throw new GatewayError('upstream_truncated', 'The transcript was truncated at the output limit of the upstream.')
    // Silence is a valid result with an empty text.
    if (parts.length === 0 && finish !== 'STOP') throw refusalOf(body, 'a transcript')
    const usage = decodeUsage(isObject(body) ? copyInCamelCase(body).usageMetadata : undefined)
    return { text: parts.join('').trim(), ...(usage === undefined ? {} : { usage }) }
  },

  tapResponse,
}

function finishOf(body: Json): string | undefined {
  const { candidates } = isObject(body) ? body : ({} as JsonObject)
  const [first] = Array.isArray(candidates) ? candidates : []
  return isObject(first) ? finishReasonName(copyInCamelCase(first).finishReason) : undefined
}

/** Expresses fields of other servers as an instruction to the model. */
function instruction(task: TranscriptionRequest['task'], fields: Unread, report: Report): string {
  const sentences: string[] = [tasks[task]]
  const addSentence = (field: string, sentence: string): void => {
    report.add(loss(`/${field}`, 'sent in the instruction to the model', 'moved', 'note'))
    sentences.push(sentence)
  }
  const language = takeString(fields, 'language')
  if (language !== undefined) addSentence('language', `The language spoken is '${language}'.`)
  const languages = wordsIn(fields, 'languages')
  if (languages !== '') addSentence('languages', `The languages spoken may be: ${languages}.`)
  const keywords = wordsIn(fields, 'keywords')
  if (keywords !== '') addSentence('keywords', `Words that may occur: ${keywords}.`)
  const prompt = takeString(fields, 'prompt')
  if (prompt !== undefined && prompt !== '')
    addSentence('prompt', `Follow the style and the words of this text, which came before: ${prompt}`)
  sentences.push('Return only the text, without remarks. If the recording contains no speech, return nothing.')
  return sentences.join('\n')
}

const wordsIn = (fields: Unread, key: string): string =>
  (takeArray(fields, key) ?? []).filter((word) => typeof word === 'string').join(', ')
