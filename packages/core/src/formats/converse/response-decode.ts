import { errorFromInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse } from '../ir.ts'
import { drop, dropNulls, leftover, setOwn, unread } from '../shared/json-fields.ts'
import { objectsIn, reportUnknown, shapeOf } from '../shared/report.ts'
import { decodeBlock } from './blocks-decode.ts'
import { decodeTier, usageOf } from './fields.ts'
import { decodeFinish } from './finish.ts'
import { tapResponse } from './wire.ts'

/** Decodes a response. It is lenient: unknown fields and blocks are kept. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  const { error } = isObject(body) ? tapResponse(body) : {}
  if (error !== undefined) throw errorFromInfo(error)
  const message = isObject(body) && isObject(body.output) ? body.output.message : undefined
  if (!isObject(body) || !isObject(message) || !Array.isArray(message.content))
    throw new GatewayError('upstream_bad_response', 'The upstream responded with status 200, but without a message.')
  const { report } = context
  reportUnknown(body.output as JsonObject, outputShape, '/output', report)
  if (isObject(body.serviceTier)) reportUnknown(body.serviceTier, tierShape, '/serviceTier', report)
  const parts = objectsIn(message.content, '/output/message/content', report).map((block, index) =>
    decodeBlock(block, blockAt(index), { request: context.request }),
  )
  const fields = unread(body)
  const choice: Choice = { parts, finish: decodeFinish(fields.stopReason, fields.additionalModelResponseFields) }
  const response: ModelResponse = { id: '', model: '', created: 0, choices: [choice] }
  put(response, 'usage', usageOf(body))
  put(response, 'serviceTier', decodeTier(fields.serviceTier))
  for (const key of ['output', 'stopReason', 'usage', 'serviceTier']) drop(fields, key)
  const ending: JsonObject = {}
  for (const key of endingFields) {
    put(ending, key, fields[key])
    drop(fields, key)
  }
  const extra = endingExtra(ending)
  if (extra !== undefined) choice.extra = { converse: extra }
  dropNulls(fields)
  const others = leftover(fields)
  if (others !== undefined) response.extra = { converse: others }
  return response
}

/** Fields that describe how the response came about. A stream has them in its last events. */
const endingFields = ['additionalModelResponseFields', 'metrics', 'trace', 'performanceConfig'] as const

const outputShape = shapeOf({ message: { role: true, content: true } })

export const tierShape = shapeOf({ type: true })

/** Returns the fields at the end of a response that have no name in the IR. The stop sequence has one. */
export function endingExtra(fields: JsonObject): JsonObject | undefined {
  const rest: JsonObject = {}
  for (const [key, value] of Object.entries(fields)) {
    // `p` is padding and carries nothing.
    if (value === null || key === 'p') continue
    if (key === 'additionalModelResponseFields' && isObject(value)) {
      const { stop_sequence: _, ...nonText } = value
      if (Object.keys(nonText).length > 0) rest[key] = nonText
    } else setOwn(rest, key, value)
  }
  return leftover(rest)
}

/** Returns the pointer of a block in the response. */
export const blockAt = (index: number): string => pointer('/output/message/content', index)
