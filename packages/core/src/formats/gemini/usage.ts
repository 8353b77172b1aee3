import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { IsShown, UsageFeature } from '../carries.ts'
import type { Nothing, Usage } from '../ir.ts'
import { findUnshownUsage as beside, type UsageFields } from '../shared/response-losses.ts'
import { decodeTier } from './fields.ts'
import { count, wordOf } from './usage-decode.ts'

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
/** All fields of the usage that are known. */
export const usageNames: ReadonlySet<string> = new Set([
  ...Object.keys(usageFields),
  ...Object.keys(modalities),
  'trafficType',
])

export const usageBeside = (usage: JsonObject, isShown: IsShown): string[] =>
  beside(usage, usageFields, isShown).filter((path) => {
    const key = path.slice(1)
    const details = usage[key]
    const read = Object.hasOwn(modalities, key) ? modalities[key] : undefined
    return read === undefined || !Array.isArray(details) || !details.every((detail) => isTold(detail, read, isShown))
  })

/** Whether the entry of a list of modalities says nothing that the client is not shown. */
function isTold(detail: Json, read: Readonly<Record<string, UsageFeature>>, isShown: IsShown): boolean {
  if (!isObject(detail)) return false
  const { modality: _, tokenCount, ...others } = detail
  if (Object.keys(others).length > 0) return false
  const word = wordOf(detail)
  const feature = Object.hasOwn(read, word) ? read[word] : undefined
  return word === 'TEXT' || !count(tokenCount) || (feature !== undefined && isShown(feature))
}
