import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { Usage } from '../ir.ts'
import { addBilled, billedTier } from '../shared/billed.ts'
import { copyInCamelCase } from './spelling.ts'

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
  const { cacheTokensDetails: cached } = value
  const [audio = 0, image = 0] = [tokensOfModality(cached, 'AUDIO'), tokensOfModality(cached, 'IMAGE')]
  if (audio + image > 0) addBilled(usage, { cached: { audio, image } })
  return usage
}

/** Reads the usage of a response or a chunk, and what the provider bills besides its tokens. */
export const usageOf = (fields: JsonObject): Usage | undefined =>
  withBilled(decodeUsage(fields.usageMetadata), fields.usageMetadata, searchesIn(fields))

/** Adds the searches and the tier of a call to its usage. */
export function withBilled(usage: Usage | undefined, metadata: Json | undefined, searches: number): Usage | undefined {
  if (usage === undefined) return undefined
  if (searches > 0) addBilled(usage, { units: { searches } })
  const named = isObject(metadata) ? metadata.serviceTier : undefined
  const tier = billedTier(typeof named === 'string' ? named.toLowerCase() : undefined)
  if (tier !== undefined) addBilled(usage, { tier })
  return usage
}

/** Returns the number of searches that the provider made for the model. The metadata lists their queries. */
export function searchesIn({ candidates }: JsonObject): number {
  let searches = 0
  for (const candidate of Array.isArray(candidates) ? candidates : []) {
    const { groundingMetadata: grounding } = isObject(candidate) ? copyInCamelCase(candidate) : {}
    const { webSearchQueries: queries } = isObject(grounding) ? copyInCamelCase(grounding) : {}
    if (Array.isArray(queries)) searches += queries.length
  }
  return searches
}
