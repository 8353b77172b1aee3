import { isObject, type Json, put } from '../../base/json/json.ts'
import type { Usage } from '../ir.ts'

/** Returns a valid token count, or undefined. */
export const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Modalities by number, as some servers write them. */
const modalityByNumber: readonly string[] = ['', 'TEXT', 'IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT']

/** Returns the modality of an entry in a list of counts, or an empty text. */
export function modalityOf(detail: Json): string {
  const modality = isObject(detail) ? detail.modality : undefined
  return (
    (typeof modality === 'number' ? modalityByNumber[modality] : typeof modality === 'string' ? modality : undefined) ??
    ''
  )
}

function tokensOfModality(details: Json | undefined, wanted: string): number | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details) {
    if (isObject(detail) && modalityOf(detail) === wanted) return count(detail.tokenCount)
  }
  return undefined
}

/**
 * Decodes `usageMetadata`. Returns undefined without counts. Google counts thoughts separately from the candidates, and tool
 * use separately from the prompt; the IR's totals include them.
 */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = count(value.promptTokenCount)
  const candidates = count(value.candidatesTokenCount) ?? count(value.responseTokenCount)
  const thoughts = count(value.thoughtsTokenCount)
  const total = count(value.totalTokenCount)
  if (prompt === undefined && candidates === undefined && thoughts === undefined && total === undefined)
    return undefined
  const tool = count(value.toolUsePromptTokenCount)
  const usage: Usage = {
    input: { total: (prompt ?? 0) + (tool ?? 0) },
    output: { total: (candidates ?? 0) + (thoughts ?? 0) },
    raw: { format: 'gemini', value },
  }
  put(usage.input, 'cacheRead', count(value.cachedContentTokenCount))
  put(usage.input, 'audio', tokensOfModality(value.promptTokensDetails, 'AUDIO'))
  put(usage.input, 'image', tokensOfModality(value.promptTokensDetails, 'IMAGE'))
  put(usage.input, 'tool', tool)
  put(usage.output, 'reasoning', thoughts)
  const written = value.candidatesTokensDetails ?? value.responseTokensDetails
  put(usage.output, 'audio', tokensOfModality(written, 'AUDIO'))
  put(usage.output, 'image', tokensOfModality(written, 'IMAGE'))
  return usage
}
