import { fromBase64 } from '../../base/base64.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import { respell } from '../../formats/gemini/spelling.ts'
import { tapResponse } from '../../formats/gemini/tap.ts'
import { decodeUsage } from '../../formats/gemini/usage.ts'
import type { Report } from '../../formats/ir.ts'
import { takeNumber, unread } from '../../formats/shared/reader.ts'
import { loss } from '../../formats/shared/report.ts'
import { candidateParts, refusalOf } from '../gemini-response.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import type { SpeechAnswer, SpeechRequest } from './request.ts'
import { fromWav } from './wav.ts'

/** A voice of Google's that sounds somewhat like one of OpenAI's. Other names are passed on as they are. */
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
const usualRate = 24_000

/** Speech by generateContent, from models that answer with sound. */
export const gemini: Dialect<SpeechRequest, SpeechAnswer> = {
  name: 'gemini',
  errors: 'gemini',
  modelInPath: '/{model}:generateContent',

  encodeRequest(request, { report }) {
    const { input, instructions, settings } = request
    const fields = unread(settings)
    reportFormat(request, report)
    if (instructions !== undefined && instructions !== '')
      report.add(loss('/instructions', 'said in front of the text', 'moved', 'note'))
    if ((takeNumber(fields, 'speed') ?? 1) !== 1)
      report.add(loss('/speed', 'the upstream has no setting for the speed', 'unsupported'))
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
      const { inlineData } = respell(part)
      const { mimeType, data } = isObject(inlineData) ? respell(inlineData) : {}
      const bytes = typeof data === 'string' ? fromBase64(data) : undefined
      if (bytes === undefined) continue
      const sound = readSound(bytes, typeof mimeType === 'string' ? mimeType : '')
      if (request.format === 'pcm' && sound.rate !== usualRate)
        report.add(loss('', `the samples come at ${sound.rate} Hz, not at ${usualRate}`, 'approximated'))
      const usage = decodeUsage(isObject(body) ? respell(body).usageMetadata : undefined)
      return { ...sound, ...(usage === undefined ? {} : { usage }) }
    }
    throw refusalOf(body, 'sound')
  },

  tapResponse: tapResponse,
}

/** What comes are samples: they can be put into a WAV file, but not into a compressed one. */
function reportFormat({ format }: SpeechRequest, report: Report): void {
  if (format === 'wav' || format === 'pcm') return
  if (format === undefined)
    report.add(loss('/response_format', 'the sound comes as wav: the upstream makes no mp3', 'approximated'))
  else
    report.add(loss('/response_format', `the upstream makes no ${format}: ask for wav or pcm`, 'unsupported', 'fatal'))
}

function voiceOf({ voice }: SpeechRequest, report: Report): string {
  if (voice === undefined) {
    report.add(loss('/voice', 'a voice that another provider keeps cannot be used', 'unsupported', 'fatal'))
    return ''
  }
  const own = Object.hasOwn(voices, voice) ? voices[voice] : undefined
  if (own === undefined) return voice
  report.add(loss('/voice', `'${own}' speaks in place of '${voice}'`, 'approximated'))
  return own
}

/** `audio/L16;codec=pcm;rate=24000`, little-endian whatever the RFC says; or a WAV file. */
function readSound(bytes: Uint8Array, mediaType: string): { samples: Uint8Array; rate: number } {
  const type = mediaType.toLowerCase()
  if (type.startsWith('audio/l16') || type.startsWith('audio/pcm'))
    return { samples: bytes, rate: Number(/rate=(\d+)/.exec(type)?.[1] ?? usualRate) }
  const wav = fromWav(bytes)
  if (wav !== undefined) return wav
  throw new GatewayError('upstream_bad_response', `The upstream answered with sound of an unknown kind ('${type}').`)
}
