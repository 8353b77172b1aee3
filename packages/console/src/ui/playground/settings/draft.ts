import type { Format, JsonObject, Settings } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import { parseData } from '../formats/read.ts'
import { exampleTools, readTools } from './tools.ts'

/** The settings as typed, valid or not. */
export interface Draft {
  readonly format: Format
  readonly model: string
  readonly system: string
  readonly temperature: string
  readonly maxTokens: string
  readonly topP: string
  /** One sequence per line. */
  readonly stop: string
  readonly seed: string
  readonly effort: string
  /** JSON, or empty. */
  readonly schema: string
  readonly extra: string
  readonly stream: boolean
  readonly offersTools: boolean
  readonly tools: string
}

export const firstDraft: Draft = {
  format: formats[0],
  model: '',
  system: '',
  temperature: '',
  maxTokens: '',
  topP: '',
  stop: '',
  seed: '',
  effort: '',
  schema: '',
  extra: '',
  stream: true,
  offersTools: false,
  tools: exampleTools,
}

export interface Wrongs {
  readonly temperature?: string
  readonly maxTokens?: string
  readonly tools?: string
  readonly topP?: string
  readonly seed?: string
  readonly schema?: string
  readonly extra?: string
}

export interface Read {
  /** Undefined if a field is invalid. */
  readonly settings: Settings | undefined
  readonly wrongs: Wrongs
}

/** Reads the settings and omits empty fields. Ranges are left to the model, which reports them itself. */
export function readDraft(draft: Draft): Read {
  const { model, system, stream, offersTools } = draft
  const temperature = numberOf(draft.temperature)
  const maxTokens = numberOf(draft.maxTokens)
  const topP = numberOf(draft.topP)
  const seed = numberOf(draft.seed)
  const schema = objectIn(draft.schema)
  const extra = objectIn(draft.extra)
  const read = offersTools ? readTools(draft.tools) : { tools: [] }
  const wrongs: Wrongs = {
    ...(temperature === 'wrong' ? { temperature: 'Enter a number such as 0.7.' } : {}),
    ...(maxTokens === 'wrong' || (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens > 0))
      ? { maxTokens: 'Enter a whole number greater than 0.' }
      : {}),
    ...(topP === 'wrong' ? { topP: 'Enter a number such as 0.9.' } : {}),
    ...(seed === 'wrong' || (seed !== undefined && !Number.isInteger(seed)) ? { seed: 'Enter a whole number.' } : {}),
    ...(schema === 'wrong' ? { schema: 'Enter a JSON object.' } : {}),
    ...(extra === 'wrong' ? { extra: 'Enter a JSON object.' } : {}),
    ...('wrong' in read ? { tools: read.wrong } : {}),
  }
  if (
    'wrong' in read ||
    temperature === 'wrong' ||
    maxTokens === 'wrong' ||
    topP === 'wrong' ||
    seed === 'wrong' ||
    schema === 'wrong' ||
    extra === 'wrong' ||
    Object.keys(wrongs).length > 0
  )
    return { settings: undefined, wrongs }
  const stop = draft.stop.split('\n').filter((line) => line !== '')
  return {
    settings: {
      model: model.trim(),
      system,
      temperature,
      maxTokens,
      topP,
      stop: stop.length === 0 ? undefined : stop,
      seed,
      effort: draft.effort || undefined,
      schema,
      extra,
      stream,
      tools: read.tools,
    },
    wrongs,
  }
}

/** Reads a JSON object; undefined if the field is empty. */
export function objectIn(text: string): JsonObject | undefined | 'wrong' {
  if (text.trim() === '') return undefined
  return parseData(text) ?? 'wrong'
}

/** Reads a number; undefined if the field is empty. */
export function numberOf(text: string): number | undefined | 'wrong' {
  if (text.trim() === '') return undefined
  const number = Number(text.replace(',', '.'))
  return Number.isFinite(number) ? number : 'wrong'
}
