import type { Format, Settings } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import { exampleTools, readTools } from './tools.ts'

/** The settings as typed, valid or not. */
export interface Draft {
  readonly format: Format
  readonly model: string
  readonly system: string
  readonly temperature: string
  readonly maxTokens: string
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
  stream: true,
  offersTools: false,
  tools: exampleTools,
}

export interface Wrongs {
  readonly temperature?: string
  readonly maxTokens?: string
  readonly tools?: string
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
  const read = offersTools ? readTools(draft.tools) : { tools: [] }
  const errors: Wrongs = {
    ...(temperature === 'wrong' ? { temperature: 'Write a number, like 0.7.' } : {}),
    ...(maxTokens === 'wrong' || (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens > 0))
      ? { maxTokens: 'Write a whole number above 0.' }
      : {}),
    ...('wrong' in read ? { tools: read.wrong } : {}),
  }
  if ('wrong' in read || temperature === 'wrong' || maxTokens === 'wrong' || errors.maxTokens !== undefined)
    return { settings: undefined, wrongs: errors }
  return {
    settings: { model: model.trim(), system, temperature, maxTokens, stream, tools: read.tools },
    wrongs: errors,
  }
}

function numberOf(text: string): number | undefined | 'wrong' {
  if (text.trim() === '') return undefined
  const number = Number(text.replace(',', '.'))
  return Number.isFinite(number) ? number : 'wrong'
}
