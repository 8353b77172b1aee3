import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json } from '../../base/json/json.ts'
import type { Usage } from '../../formats/ir.ts'
import { loss } from '../../formats/shared/report.ts'
import type { Dialect, ResponseContext } from '../operation.ts'
import type { EmbeddingsRequest } from './request.ts'

export interface EmbeddingsResponse {
  readonly model?: string
  /** In the order of the inputs. */
  readonly vectors: readonly Vector[]
  readonly usage?: Usage
}

export type EmbeddingsContext = ResponseContext<EmbeddingsRequest>

export const invalidResponse = (reason: string): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream's response is not a list of embeddings: ${reason}.`)

/** Checks that there is one vector for each input. Vectors of another length than requested are reported. */
export function checkVectors(vectors: readonly (Vector | undefined)[], context: EmbeddingsContext): Vector[] {
  const { request, report } = context
  const { inputs, dimensions } = request
  if (vectors.length !== inputs.length)
    throw invalidResponse(`it contains ${vectors.length} vectors for ${inputs.length} inputs`)
  return vectors.map((vector, index) => {
    if (vector === undefined) throw invalidResponse(`vector ${index} is missing or invalid`)
    const size = sizeOf(vector)
    if (dimensions !== undefined && size !== dimensions)
      report.add(loss('', `the vectors have ${size} dimensions instead of the requested ${dimensions}`, 'approximated'))
    return vector
  })
}

/** Sorts items with an index into the order of the inputs. */
function inOrder<T>(items: readonly T[], indexOf: (item: T) => Json | undefined): (T | undefined)[] {
  const out = new Array<T | undefined>(items.length).fill(undefined)
  for (const [position, item] of items.entries()) {
    const index = indexOf(item) ?? position
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= items.length)
      throw invalidResponse(`the request has no input with index ${JSON.stringify(index).slice(0, 20)}`)
    if (out[index] !== undefined) throw invalidResponse(`it contains input ${index} twice`)
    out[index] = item
  }
  return out
}

export const usageOf = ({ usage }: EmbeddingsResponse): Usage | undefined => usage

/** Returns usage without output tokens, as embeddings have none. Returns undefined if the upstream counted nothing. */
export function inputUsage(tokens: Json | undefined, image?: Json): Usage | undefined {
  if (typeof tokens !== 'number' || !Number.isFinite(tokens) || tokens < 0) return undefined
  const images = typeof image === 'number' && image > 0 ? image : undefined
  return { input: { total: tokens, ...(images === undefined ? {} : { image: images }) }, output: { total: 0 } }
}

/** The response of OpenAI and of several other providers: `{data: [{index, embedding}], model, usage}`. */
export const listResponse = {
  decodeResponse: decodeList,
  isResponse: ({ data }) => Array.isArray(data),
  tapResponse(body) {
    const usage = listUsage(body.usage)
    return usage === undefined ? {} : { usage }
  },
} satisfies Partial<Dialect<EmbeddingsRequest, EmbeddingsResponse>>

const listUsage = (usage: Json | undefined) =>
  isObject(usage) ? inputUsage(usage.prompt_tokens ?? usage.total_tokens, usage.image_tokens) : undefined

function decodeList(body: Json, context: EmbeddingsContext): EmbeddingsResponse {
  if (!isObject(body) || !Array.isArray(body.data)) throw invalidResponse('it has no data')
  const items = inOrder(body.data, (item) => (isObject(item) ? item.index : undefined))
  const vectors = items.map((item) => (isObject(item) ? decodeVector(item.embedding) : undefined))
  const usage = listUsage(body.usage)
  return {
    vectors: checkVectors(vectors, context),
    ...(typeof body.model === 'string' ? { model: body.model } : {}),
    ...(usage === undefined ? {} : { usage }),
  }
}

/** A list of numbers, or base64 of the same numbers as little-endian float32, which most clients request. */
export type Vector = readonly number[] | string

const floatBytes = 4
/** Number of arguments that one call of `fromCharCode` certainly accepts. */
const maxArguments = 8192

/** Returns the vector in a JSON value, or undefined if it is none. */
export function decodeVector(value: Json | undefined): Vector | undefined {
  if (typeof value === 'string') {
    const bytes = byteLength(value)
    return bytes !== undefined && bytes > 0 && bytes % floatBytes === 0 ? value : undefined
  }
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.every((item): item is number => typeof item === 'number') ? value : undefined
}

export const sizeOf = (vector: Vector): number =>
  typeof vector === 'string' ? (byteLength(vector) ?? 0) / floatBytes : vector.length

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Returns the number of bytes in a base64 text, or undefined if it is none. */
function byteLength(text: string): number | undefined {
  if (text.length % 4 !== 0 || !base64.test(text)) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return (text.length / 4) * 3 - padding
}

export function toBase64(vector: Vector): string {
  if (typeof vector === 'string') return vector
  const bytes = new Uint8Array(vector.length * floatBytes)
  const view = new DataView(bytes.buffer)
  for (const [index, value] of vector.entries()) view.setFloat32(index * floatBytes, value, true)
  let binary = ''
  for (let at = 0; at < bytes.length; at += maxArguments)
    binary += String.fromCharCode(...bytes.subarray(at, at + maxArguments))
  return btoa(binary)
}

export function toNumbers(vector: Vector): number[] {
  if (typeof vector !== 'string') return [...vector]
  const bytes = Uint8Array.from(atob(vector), (char) => char.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  return Array.from({ length: bytes.length / floatBytes }, (_, index) => view.getFloat32(index * floatBytes, true))
}
