import { errorFromInfo, GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse } from '../ir.ts'
import { setOwn } from '../shared/own-members.ts'
import { drop, leftover, unread } from '../shared/reader.ts'
import { objectsIn, reportUnknown, shapeOf } from '../shared/shape.ts'
import { blockAt, decodeBlock } from './blocks-decode.ts'
import { tapResponse } from './error.ts'
import { decodeFinish } from './finish.ts'
import { decodeUsage } from './usage.ts'

/** Takes whatever Bedrock sends, as far as it goes. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  const { error } = isObject(body) ? tapResponse(body) : {}
  if (error !== undefined) throw errorFromInfo(error)
  const message = isObject(body) && isObject(body.output) ? body.output.message : undefined
  if (!isObject(body) || !isObject(message) || !Array.isArray(message.content))
    throw new GatewayError('upstream_bad_response', 'The upstream answered 200 with something that is no message.')
  const { report } = context
  reportUnknown(body.output as JsonObject, outputShape, '/output', report)
  if (isObject(body.serviceTier)) reportUnknown(body.serviceTier, tierShape, '/serviceTier', report)
  const parts = objectsIn(message.content, '/output/message/content', report).map((block, index) =>
    decodeBlock(block, blockAt(index), context.request),
  )
  const fields = unread(body)
  const choice: Choice = { parts, finish: decodeFinish(fields.stopReason, fields.additionalModelResponseFields) }
  const response: ModelResponse = { id: '', model: '', created: 0, choices: [choice] }
  put(response, 'usage', decodeUsage(fields.usage))
  put(response, 'serviceTier', decodeTier(fields.serviceTier))
  for (const key of ['output', 'stopReason', 'usage', 'serviceTier']) drop(fields, key)
  const extra = endingExtra(leftover(fields) ?? {})
  if (extra !== undefined) choice.extra = { converse: extra }
  return response
}

const outputShape = shapeOf({ message: { role: true, content: true } })
export const tierShape = shapeOf({ type: true })

/** The tier that served the call. */
export const decodeTier = (tier: Json | undefined): string | undefined =>
  isObject(tier) && typeof tier.type === 'string' ? tier.type : undefined

/** What an answer says at its end beyond what has a name in other formats; the sequence that ended it has one. */
export function endingExtra(fields: JsonObject): JsonObject | undefined {
  const rest: JsonObject = {}
  for (const [key, value] of Object.entries(fields)) {
    // Of padding nothing is lost.
    if (value === null || key === 'p') continue
    if (key === 'additionalModelResponseFields' && isObject(value)) {
      const { stop_sequence: _, ...others } = value
      if (Object.keys(others).length > 0) rest[key] = others
    } else setOwn(rest, key, value)
  }
  return leftover(rest)
}
