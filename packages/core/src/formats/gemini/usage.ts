import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { IsShown, UsageFeature, UsageFields } from '../capabilities.ts'
import type { Nothing, Usage } from '../ir.ts'
import { findUnshownUsage } from '../shared/response-losses.ts'
import { decodeTier } from './fields.ts'
import { count, modalityOf } from './usage-decode.ts'

/** Returns the service tier that served the call, which stands in the usage. */
export function serviceTierIn(usage: Json | undefined): string | undefined {
  const tier = isObject(usage) ? usage.serviceTier : undefined
  return typeof tier === 'string' ? decodeTier(tier) : undefined
}

/** Encodes usage. Usage of an upstream of this format is returned unchanged. */
export function encodeUsage(usage: Usage): JsonObject {
  const { input, output, raw, billed: _billed, ...rest } = usage
  rest satisfies Nothing
  // The prompt count includes tokens that were written to a cache.
  const {
    total: read,
    cacheRead,
    cacheWrite: _w,
    cacheWrite1h: _h,
    cacheWrite12h: _long,
    audio,
    image,
    tool,
    ...inputRest
  } = input
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

export const usageFields = {
  promptTokenCount: 'shown',
  candidatesTokenCount: 'shown',
  responseTokenCount: 'shown',
  totalTokenCount: 'shown',
  cachedContentTokenCount: 'usage.cacheRead',
  thoughtsTokenCount: 'usage.reasoning',
  toolUsePromptTokenCount: 'usage.tool',
  serviceTier: 'shown',
} as const satisfies UsageFields
/** The usage feature of each modality in each list. Text is the rest of a known total. */
const modalities: Readonly<Record<string, Readonly<Record<string, UsageFeature>>>> = {
  promptTokensDetails: { AUDIO: 'usage.audio', IMAGE: 'usage.image' },
  candidatesTokensDetails: { AUDIO: 'usage.audio', IMAGE: 'usage.image' },
  responseTokensDetails: { AUDIO: 'usage.audio', IMAGE: 'usage.image' },
  cacheTokensDetails: {},
  toolUsePromptTokensDetails: {},
}
/** All known fields of the usage. */
export const usageNames: ReadonlySet<string> = new Set([
  ...Object.keys(usageFields),
  ...Object.keys(modalities),
  'trafficType',
])

/** See `Codec.unshownUsage`. A list of modalities is shown if each of its entries is. */
export const unshownUsage = (usage: JsonObject, isShown: IsShown): string[] =>
  findUnshownUsage(usage, usageFields, isShown).filter((path) => {
    const key = path.slice(1)
    const details = usage[key]
    const read = Object.hasOwn(modalities, key) ? modalities[key] : undefined
    return (
      read === undefined || !Array.isArray(details) || !details.every((detail) => isShownDetail(detail, read, isShown))
    )
  })

/** Returns whether the client gets the count of an entry in a list of modalities. */
function isShownDetail(detail: Json, read: Readonly<Record<string, UsageFeature>>, isShown: IsShown): boolean {
  if (!isObject(detail)) return false
  const { modality: _, tokenCount, ...others } = detail
  if (Object.keys(others).length > 0) return false
  const word = modalityOf(detail)
  const feature = Object.hasOwn(read, word) ? read[word] : undefined
  return word === 'TEXT' || !count(tokenCount) || (feature !== undefined && isShown(feature))
}
