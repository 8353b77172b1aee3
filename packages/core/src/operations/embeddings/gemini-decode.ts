import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { respell, spelt } from '../../formats/gemini/spelling.ts'
import { pointer } from '../../formats/shared/pointer.ts'
import { takeBoolean, takeNumber, takeString, type Unread } from '../../formats/shared/reader.ts'
import { loss } from '../../formats/shared/report.ts'
import { type OperationContext, reportUnread } from '../operation.ts'
import type { EmbeddingInput, EmbeddingPart, EmbeddingsRequest, SettingName, Task } from './request.ts'

const tasks: { readonly [word: string]: Task } = {
  RETRIEVAL_QUERY: 'query',
  RETRIEVAL_DOCUMENT: 'document',
  SEMANTIC_SIMILARITY: 'similarity',
  CLASSIFICATION: 'classification',
  CLUSTERING: 'clustering',
  QUESTION_ANSWERING: 'question-answering',
  FACT_VERIFICATION: 'fact-verification',
  CODE_RETRIEVAL_QUERY: 'code-query',
}

export type Settings = { -readonly [S in Exclude<SettingName, 'user'>]?: EmbeddingsRequest[S] }

/** One content with its own settings: each request of a batch has some. */
export interface DecodedOne {
  readonly input: EmbeddingInput
  readonly settings: Settings
  readonly at: { [S in SettingName]?: string }
}

/** @param at where the request stands in the client's body */
export function decodeOne(source: JsonObject, at: string, { report }: OperationContext): DecodedOne {
  const { content, embedContentConfig, ...fields } = respell(source)
  const settings: Settings = {}
  const places: DecodedOne['at'] = {}
  readSettings(fields, source, at, settings, places)
  reportUnread(fields, report, at)
  if (isObject(embedContentConfig)) {
    const below = pointer(at, spelt(source, 'embedContentConfig'))
    const inner = respell(embedContentConfig)
    readSettings(inner, embedContentConfig, below, settings, places)
    reportUnread(inner, report, below)
  }
  const input = decodeContent(isObject(content) ? content : {}, pointer(at, 'content'), report)
  return { input, settings, at: places }
}

export function readSettings(
  fields: Unread,
  source: JsonObject,
  at: string,
  into: Settings,
  places: DecodedOne['at'],
): void {
  const note = (name: SettingName, key: string): string => {
    const place = pointer(at, spelt(source, key))
    places[name] = place
    return place
  }
  const word = fields.taskType
  if (word === 'TASK_TYPE_UNSPECIFIED') delete fields.taskType
  else if (typeof word === 'string' && Object.hasOwn(tasks, word)) {
    put(into, 'task', tasks[word])
    note('task', 'taskType')
    delete fields.taskType
  }
  const title = takeString(fields, 'title')
  if (title !== undefined) {
    into.title = title
    note('title', 'title')
  }
  const dimensions = takeNumber(fields, 'outputDimensionality')
  if (dimensions !== undefined) {
    into.dimensions = dimensions
    note('dimensions', 'outputDimensionality')
  }
  const cut = takeBoolean(fields, 'autoTruncate')
  if (cut !== undefined) {
    into.truncate = cut ? 'end' : 'none'
    note('truncate', 'autoTruncate')
  }
}

function decodeContent(content: JsonObject, at: string, report: OperationContext['report']): EmbeddingInput {
  // The role says nothing of a text that nobody answers.
  const { parts, role: _, ...rest } = content
  reportUnread(rest, report, at)
  const list = (Array.isArray(parts) ? parts : []).map(decodePart)
  const [only] = list
  if (only?.type === 'text' && list.length === 1) return { at, text: only.text }
  return { at, parts: list }
}

function decodePart(part: Json): EmbeddingPart {
  if (!isObject(part)) return { type: 'native', value: part }
  const { text, inlineData } = respell(part)
  if (typeof text === 'string') return { type: 'text', text }
  const { mimeType, data } = isObject(inlineData) ? respell(inlineData) : {}
  if (typeof mimeType === 'string' && mimeType.startsWith('image/') && typeof data === 'string')
    return { type: 'image', mediaType: mimeType, data }
  return { type: 'native', value: part }
}

const names = ['task', 'title', 'dimensions', 'truncate'] as const

/** Other dialects have one setting for all inputs. Where the requests of a batch differ, nobody else can carry that. */
export function shared(
  requests: readonly DecodedOne[],
  { report }: OperationContext,
  rest: JsonObject = {},
): Omit<EmbeddingsRequest, 'model'> {
  reportUnread(rest, report)
  const settings: Settings = {}
  const at: DecodedOne['at'] = {}
  const [first] = requests
  for (const name of names) {
    const differing = requests.find((one) => one.settings[name] !== first?.settings[name])
    if (differing !== undefined) {
      const place = differing.at[name] ?? first?.at[name] ?? '/requests'
      const severity = name === 'dimensions' ? 'fatal' : 'warn'
      report.add(loss(place, `the upstream takes one ${name} for all inputs of a call`, 'unsupported', severity))
      continue
    }
    if (first?.settings[name] === undefined) continue
    Object.assign(settings, { [name]: first.settings[name] })
    put(at, name, first.at[name])
  }
  return { inputs: requests.map(({ input }) => input), encoding: 'float', at, ...settings }
}
