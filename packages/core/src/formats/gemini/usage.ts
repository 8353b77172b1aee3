import type { Json, JsonObject, Usage } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { type Nothing, put } from '../shared/strict.ts'
import { usageBeside as beside, type IsShown, type UsageFeature, type UsageFields } from '../shared/usage-report.ts'
import { decodeTier } from './fields.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Modalities by their numbers, which some servers write instead. */
const numbered: readonly string[] = ['', 'TEXT', 'IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT']

function wordOf(detail: Json): string {
  const modality = isObject(detail) ? detail.modality : undefined
  return (typeof modality === 'number' ? numbered[modality] : typeof modality === 'string' ? modality : undefined) ?? ''
}

function ofModality(details: Json | undefined, wanted: string): number | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details) {
    if (isObject(detail) && wordOf(detail) === wanted) return count(detail.tokenCount)
  }
  return undefined
}

/**
 * Reads `usageMetadata`; undefined if it counts nothing. Here thoughts stand beside the candidates' tokens and what tools
 * read beside the prompt's; in the IR the totals include them.
 */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = count(value.promptTokenCount)
  const said = count(value.candidatesTokenCount) ?? count(value.responseTokenCount)
  const thought = count(value.thoughtsTokenCount)
  const total = count(value.totalTokenCount)
  if (prompt === undefined && said === undefined && thought === undefined && total === undefined) return undefined
  const tool = count(value.toolUsePromptTokenCount)
  const usage: Usage = {
    input: { total: (prompt ?? 0) + (tool ?? 0) },
    output: { total: (said ?? 0) + (thought ?? 0) },
    raw: { format: 'gemini', value },
  }
  put(usage.input, 'cacheRead', count(value.cachedContentTokenCount))
  put(usage.input, 'audio', ofModality(value.promptTokensDetails, 'AUDIO'))
  put(usage.input, 'image', ofModality(value.promptTokensDetails, 'IMAGE'))
  put(usage.input, 'tool', tool)
  put(usage.output, 'reasoning', thought)
  const written = value.candidatesTokensDetails ?? value.responseTokensDetails
  put(usage.output, 'audio', ofModality(written, 'AUDIO'))
  put(usage.output, 'image', ofModality(written, 'IMAGE'))
  return usage
}

/** The tier that served the call stands in the usage. */
export function tierIn(usage: Json | undefined): string | undefined {
  const tier = isObject(usage) ? usage.serviceTier : undefined
  return typeof tier === 'string' ? decodeTier(tier) : undefined
}

export function encodeUsage(usage: Usage): JsonObject {
  const { input, output, raw, ...rest } = usage
  rest satisfies Nothing
  // Writing to a cache costs nothing extra to count here: those tokens stand in the prompt's.
  const { total: read, cacheRead, cacheWrite: _w, cacheWrite1h: _h, audio, image, tool, ...inputRest } = input
  inputRest satisfies Nothing
  const { total: written, reasoning, audio: spoken, image: drawn, ...outputRest } = output
  outputRest satisfies Nothing
  if (raw?.format === 'gemini') return raw.value
  const out: JsonObject = {
    promptTokenCount: Math.max(0, read - (tool ?? 0)),
    candidatesTokenCount: Math.max(0, written - (reasoning ?? 0)),
    totalTokenCount: read + written,
  }
  put(out, 'cachedContentTokenCount', cacheRead)
  put(out, 'thoughtsTokenCount', reasoning)
  put(out, 'toolUsePromptTokenCount', tool)
  put(out, 'promptTokensDetails', details(audio, image))
  put(out, 'candidatesTokensDetails', details(spoken, drawn))
  return out
}

function details(audio: number | undefined, image: number | undefined): JsonObject[] | undefined {
  const list: JsonObject[] = []
  if (audio !== undefined) list.push({ modality: 'AUDIO', tokenCount: audio })
  if (image !== undefined) list.push({ modality: 'IMAGE', tokenCount: image })
  return list.length === 0 ? undefined : list
}

const usageFields = {
  promptTokenCount: 'told',
  candidatesTokenCount: 'told',
  responseTokenCount: 'told',
  totalTokenCount: 'told',
  cachedContentTokenCount: 'usage.cacheRead',
  thoughtsTokenCount: 'usage.reasoning',
  toolUsePromptTokenCount: 'usage.tool',
  serviceTier: 'told',
} as const satisfies UsageFields
/** What each list of modalities is read for; text is the rest of a total that is told. */
const modalities: Readonly<Record<string, Readonly<Record<string, UsageFeature>>>> = {
  promptTokensDetails: { AUDIO: 'usage.audio', IMAGE: 'usage.image' },
  candidatesTokensDetails: { AUDIO: 'usage.audio', IMAGE: 'usage.image' },
  responseTokensDetails: { AUDIO: 'usage.audio', IMAGE: 'usage.image' },
  cacheTokensDetails: {},
  toolUsePromptTokensDetails: {},
}
export const usageBeside = (usage: JsonObject, isShown: IsShown): string[] =>
  beside(usage, usageFields, isShown).filter((path) => {
    const key = path.slice(1)
    const details = usage[key]
    const read = Object.hasOwn(modalities, key) ? modalities[key] : undefined
    if (read === undefined || !Array.isArray(details)) return true
    return details.some((detail) => {
      const word = wordOf(detail)
      const feature = Object.hasOwn(read, word) ? read[word] : undefined
      return (
        word !== 'TEXT' && isObject(detail) && count(detail.tokenCount) && !(feature !== undefined && isShown(feature))
      )
    })
  })
