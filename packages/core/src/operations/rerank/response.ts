import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { ResponseTap } from '../../formats/codec.ts'
import type { Usage } from '../../formats/ir.ts'
import type { ResponseContext } from '../operation.ts'
import type { RerankRequest } from './request.ts'

export interface RerankResult {
  /** Index of the document in the request. */
  readonly index: number
  readonly score: number
}

export interface RerankResponse {
  readonly id?: string
  readonly model?: string
  /** Best first. */
  readonly results: readonly RerankResult[]
  readonly usage?: Usage
  /** Search units, which some providers bill instead of tokens. */
  readonly searchUnits?: number
}

export type RerankContext = ResponseContext<RerankRequest>

const invalidResponse = (reason: string): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream's response is not a ranking: ${reason}.`)

/** Decodes a list of `{index, relevance_score}`, best first, with at most as many results as requested. */
export function decodeResults(list: Json | undefined, { request }: RerankContext): RerankResult[] {
  if (!Array.isArray(list)) throw invalidResponse('it has no results')
  const seen = new Set<number>()
  const results = list.map((item) => {
    const { index, relevance_score: score } = isObject(item) ? item : {}
    if (typeof index !== 'number' || !(index in request.documents))
      throw invalidResponse(`the request has no document with index ${String(JSON.stringify(index)).slice(0, 20)}`)
    if (seen.has(index)) throw invalidResponse(`it contains document ${index} twice`)
    if (typeof score !== 'number') throw invalidResponse(`document ${index} has no score`)
    seen.add(index)
    return { index, score }
  })
  results.sort((a, b) => b.score - a.score)
  return request.topN === undefined ? results : results.slice(0, request.topN)
}

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Returns the input tokens. Rankings have no output tokens. */
export function tokenUsage(usage: Json | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined
  const tokens = count(usage.total_tokens) ?? count(usage.prompt_tokens) ?? count(usage.input_tokens)
  return tokens === undefined ? undefined : { input: { total: tokens }, output: { total: 0 } }
}

/** Decodes Cohere's `meta`: search units, and tokens if Cohere counted them. */
export function decodeMeta(meta: Json | undefined): Pick<RerankResponse, 'usage' | 'searchUnits'> {
  if (!isObject(meta)) return {}
  const units = isObject(meta.billed_units) ? count(meta.billed_units.search_units) : undefined
  const usage = tokenUsage(meta.tokens) ?? tokenUsage(meta.billed_units)
  return { ...(units === undefined ? {} : { searchUnits: units }), ...(usage === undefined ? {} : { usage }) }
}

/** Returns usage and search units of an upstream's response. */
export function tapRerank(usage: Usage | undefined, searchUnits: number | undefined): ResponseTap {
  const tap: ResponseTap = {}
  put(tap, 'usage', usage)
  put(tap, 'units', searchUnits === undefined ? undefined : { searches: searchUnits })
  return tap
}

/** Encodes `meta` of a response in Cohere's shape. */
export function encodeMeta({ usage, searchUnits }: RerankResponse, version: string): JsonObject {
  return {
    api_version: { version },
    ...(searchUnits === undefined ? {} : { billed_units: { search_units: searchUnits } }),
    ...(usage === undefined ? {} : { tokens: { input_tokens: usage.input.total } }),
  }
}

/** Returns `id` and `model` of a response if it has them. */
export const decodeIds = ({ id, model }: JsonObject): Pick<RerankResponse, 'id' | 'model'> => ({
  ...(typeof id === 'string' ? { id } : {}),
  ...(typeof model === 'string' ? { model } : {}),
})
