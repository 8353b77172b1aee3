import { asList, asString } from '../base/json.ts'
import { wavDuration } from '../base/sniff-media.ts'
import type { FakeOperation } from '../contract/request.ts'
import { badValue, fieldError, missingField } from '../formats/openai/check-fields.ts'
import { checkShape, type RequestShape } from '../formats/openai/check-shape.ts'
import type { WireError } from '../wire/errors.ts'
import { formFiles } from '../wire/form-fields.ts'
import type { ServiceRequest } from './service.ts'

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
export function checkTranscription(asked: ServiceRequest): WireError | undefined {
  const { body, route, model, form } = asked
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
  return checkFormat(asked, model)
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
