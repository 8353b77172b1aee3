import { errorOf } from '../base/errors.ts'
import { editJson } from '../base/json/edit.ts'
import { put } from '../base/json/object.ts'
import { slice } from '../base/json/source.ts'
import { spliceJson } from '../base/json/splice.ts'
import type { JsonObject } from '../base/json/types.ts'
import { checkResponse } from '../formats/check-response.ts'
import type { ClientQuirks, ResponseTap, TargetTraits, WireCodec } from '../formats/codec.ts'
import { createReport } from '../formats/loss-report.ts'
import { receivedReferences } from '../formats/references/places.ts'
import { fieldsOf, type RequestBody } from '../formats/request-body.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'
import { readAnswer } from './answer-body.ts'
import type { Lane, WholeAnswer } from './lane.ts'
import { passingStream } from './passing-stream.ts'

/**
 * Client and upstream speak the same format: the body passes as it came but for the model's name and what the codec's
 * own `wireEdit` asks for; the answer's bytes pass untouched. A tap reads usage and the ending on the side.
 */
export function wireLane(
  codec: WireCodec,
  request: RequestBody,
  target: TargetTraits,
  maxEventChars: number,
  redactor: Redactor,
  client?: ClientQuirks | undefined,
): Lane {
  const fields = fieldsOf(request)
  const edit = codec.wireEdit(fields, target)
  const report = createReport(fields)
  for (const loss of edit?.losses ?? []) report.add(loss)
  return {
    kind: 'wire',
    upstreamFormat: codec.format,
    body: setModel(request, target.model, { ...edit?.set }, edit?.drop),
    report,
    answer(bytes) {
      const { value, body, contentType } = readAnswer(bytes, redactor)
      checkResponse(value, codec)
      const { error, usage, units, finish, received } = tapQuietly(codec, value)
      if (error !== undefined) throw errorOf(error)
      const answer: { -readonly [K in keyof WholeAnswer]: WholeAnswer[K] } = { body }
      put(answer, 'contentType', contentType)
      put(answer, 'usage', usage)
      put(answer, 'units', units)
      put(answer, 'finish', finish)
      const stored = edit?.storesAnswer === true ? receivedReferences('responses', [value.id]) : undefined
      put(answer, 'received', stored === undefined ? received : [...(received ?? []), ...stored])
      return answer
    },
    openStream: () =>
      passingStream({
        tap: codec.tapStream({
          withholdUsage: edit?.erase !== undefined,
          target,
          request: fields,
          storesAnswer: edit?.storesAnswer === true,
          client,
        }),
        maxEventChars,
        redactor,
        textFields: codec.textFields,
        erase: edit?.erase,
      }),
  }
}

/** The body with the upstream's name for the model, the other members to `set`, and without those to `drop`; the very bytes if nothing changes. */
export function setModel(
  request: RequestBody,
  name: string,
  set: JsonObject,
  drop: readonly string[] = [],
): string | Uint8Array {
  const { outline } = request
  const { model } = fieldsOf(request)
  // Nothing is to be changed in most bodies. A second name for the model has been refused (`checkNamedModels`).
  if (model === name && drop.length === 0 && !hasKeys(set)) return request.bytes
  const source = outline === undefined ? request.text : request.bytes
  const { members } = outline ?? request
  if (model !== name) {
    // What stands in front of the name may stay there.
    const { modelPrefix = '' } = request
    for (const { key, start, end } of members) {
      if (key.toLowerCase() !== 'model') continue
      const written: unknown = JSON.parse(slice(source, start, end))
      set[key] = written === modelPrefix + String(model) ? modelPrefix + name : name
    }
  }
  if (drop.length > 0) return editJson(source, members, set, drop)
  return hasKeys(set) ? spliceJson(source, members, set) : request.bytes
}

function hasKeys(set: JsonObject): boolean {
  for (const _ in set) return true
  return false
}

/** Accounting must never break an answer that the client could read. */
function tapQuietly(codec: WireCodec, body: JsonObject): ResponseTap {
  try {
    return codec.tapResponse(body)
  } catch {
    return {}
  }
}
