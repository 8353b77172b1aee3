import { GatewayError } from '../../base/errors.ts'
import type { Json } from '../../base/json/types.ts'
import type { Usage } from '../../formats/ir.ts'
import { loss } from '../../formats/shared/report.ts'
import type { ResponseContext } from '../operation.ts'
import type { EmbeddingsRequest } from './request.ts'
import { sizeOf, type Vector } from './vector.ts'

export interface EmbeddingsAnswer {
  readonly model?: string
  /** In the order of the inputs. */
  readonly vectors: readonly Vector[]
  readonly usage?: Usage
}

export type EmbeddingsContext = ResponseContext<EmbeddingsRequest>

export const unusable = (what: string): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream's answer is no list of embeddings: ${what}.`)

/** A vector for each input, or it is no answer. Another length than asked for is told. */
export function checkVectors(vectors: readonly (Vector | undefined)[], context: EmbeddingsContext): Vector[] {
  const { request, report } = context
  const { inputs, dimensions } = request
  if (vectors.length !== inputs.length) throw unusable(`${vectors.length} vectors came for ${inputs.length} inputs`)
  return vectors.map((vector, index) => {
    if (vector === undefined) throw unusable(`number ${index} is missing, or no vector`)
    const size = sizeOf(vector)
    if (dimensions !== undefined && size !== dimensions)
      report.add(loss('', `the vectors have ${size} dimensions, not the ${dimensions} asked for`, 'approximated'))
    return vector
  })
}

/** Items that say which input they belong to, in the inputs' order. */
export function inOrder<T>(items: readonly T[], indexOf: (item: T) => Json | undefined): (T | undefined)[] {
  const out = new Array<T | undefined>(items.length).fill(undefined)
  for (const [place, item] of items.entries()) {
    const index = indexOf(item) ?? place
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= items.length)
      throw unusable(`there is no input number ${JSON.stringify(index).slice(0, 20)}`)
    if (out[index] !== undefined) throw unusable(`input number ${index} came twice`)
    out[index] = item
  }
  return out
}

export const usageOf = ({ usage }: EmbeddingsAnswer): Usage | undefined => usage

/** Usage of input only: embeddings put nothing out. Undefined where nothing was counted. */
export function inputUsage(tokens: Json | undefined, image?: Json): Usage | undefined {
  if (typeof tokens !== 'number' || !Number.isFinite(tokens) || tokens < 0) return undefined
  const images = typeof image === 'number' && image > 0 ? image : undefined
  return { input: { total: tokens, ...(images === undefined ? {} : { image: images }) }, output: { total: 0 } }
}
