import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { finishWord } from '../../formats/gemini/finish.ts'
import { respell } from '../../formats/gemini/spelling.ts'
import { tapResponse } from '../../formats/gemini/tap.ts'
import { decodeUsage } from '../../formats/gemini/usage.ts'
import type { Report } from '../../formats/ir.ts'
import { takeArray, takeNumber, takeString, type Unread, unread } from '../../formats/shared/reader.ts'
import { loss } from '../../formats/shared/report.ts'
import { candidateParts, refusalOf } from '../gemini-response.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import type { TranscriptionAnswer, TranscriptionRequest } from './request.ts'

const tasks = {
  transcribe: 'Transcribe the speech in this recording word for word, in the language that is spoken.',
  translate: 'Translate the speech in this recording into English.',
} as const

/** Speech to text by generateContent: a general model is told to write down what it hears. */
export const gemini: Dialect<TranscriptionRequest, TranscriptionAnswer> = {
  name: 'gemini',
  errors: 'gemini',
  modelInPath: '/{model}:generateContent',

  encodeRequest({ task, audio, format, settings }, { report }) {
    const fields = unread(settings)
    if (format !== 'json' && format !== 'text')
      report.add(
        loss(
          '/response_format',
          `the upstream knows no timestamps or speakers for ${format}: ask for json or text`,
          'unsupported',
          'fatal',
        ),
      )
    const temperature = takeNumber(fields, 'temperature')
    const text = instruction(task, fields, report)
    // How a service cuts up what it hears is nothing to a model that hears it whole.
    if (fields.chunking_strategy === 'auto') delete fields.chunking_strategy
    reportUnread(fields, report)
    return {
      contents: [{ role: 'user', parts: [{ inlineData: { mimeType: audio.mediaType, data: audio.data } }, { text }] }],
      ...(temperature === undefined ? {} : { generationConfig: { temperature } }),
    }
  },

  decodeResponse(body) {
    const parts = candidateParts(body).flatMap(({ part }) => {
      const { text, thought } = respell(part)
      return typeof text === 'string' && thought !== true ? [text] : []
    })
    const finish = finishOf(body)
    if (finish === 'MAX_TOKENS')
      throw new GatewayError('upstream_truncated', 'The transcript was cut at the upstream’s limit for answers.')
    // Silence is an answer too.
    if (parts.length === 0 && finish !== 'STOP') throw refusalOf(body, 'a transcript')
    const usage = decodeUsage(isObject(body) ? respell(body).usageMetadata : undefined)
    return { text: parts.join('').trim(), ...(usage === undefined ? {} : { usage }) }
  },

  tapResponse: tapResponse,
}

function finishOf(body: Json): string | undefined {
  const { candidates } = isObject(body) ? body : ({} as JsonObject)
  const [first] = Array.isArray(candidates) ? candidates : []
  return isObject(first) ? finishWord(respell(first).finishReason) : undefined
}

/** What other servers have fields for, said in words. */
function instruction(task: TranscriptionRequest['task'], fields: Unread, report: Report): string {
  const told: string[] = [tasks[task]]
  const tell = (field: string, sentence: string): void => {
    report.add(loss(`/${field}`, 'said in the instruction to the model', 'moved', 'note'))
    told.push(sentence)
  }
  const language = takeString(fields, 'language')
  if (language !== undefined) tell('language', `The language spoken is '${language}'.`)
  const languages = wordsIn(fields, 'languages')
  if (languages !== '') tell('languages', `The languages spoken may be: ${languages}.`)
  const keywords = wordsIn(fields, 'keywords')
  if (keywords !== '') tell('keywords', `Words that may occur: ${keywords}.`)
  const prompt = takeString(fields, 'prompt')
  if (prompt !== undefined && prompt !== '')
    tell('prompt', `Follow the style and the words of this text, which came before: ${prompt}`)
  told.push('Answer with the text alone, without remarks. If nobody speaks, answer with nothing.')
  return told.join('\n')
}

const wordsIn = (fields: Unread, key: string): string =>
  (takeArray(fields, key) ?? []).filter((word) => typeof word === 'string').join(', ')
