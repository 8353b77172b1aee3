import { errorOf } from '../errors.ts'
import type { ClientQuirks, ResponseTap, TargetTraits, WireCodec } from '../formats/codec.ts'
import type { JsonObject } from '../formats/ir.ts'
import { put } from '../formats/shared/strict.ts'
import { editJson } from '../json/edit.ts'
import type { Member } from '../json/scan.ts'
import { slice } from '../json/source.ts'
import { spliceJson } from '../json/splice.ts'
import { createReport } from '../losses.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { receivedIds } from '../references/received.ts'
import { readAnswer } from './answer-body.ts'
import { checkAnswer } from './check-answer.ts'
import type { Lane, WholeAnswer } from './lane.ts'
import { passingStream } from './passing-stream.ts'

/** The client's body in every form the lanes need, read once. */
export interface RequestBody {
  readonly bytes: Uint8Array
  readonly text: string
  readonly members: readonly Member[]
  readonly value: JsonObject
  /** A large body's text, members and value are made when first asked for. What needs little of them is content with these. */
  readonly outline?: RequestOutline | undefined
  /** See Codec: what the body may have in front of a model's name that its path says. */
  readonly modelPrefix?: string | undefined
}

/** What is known of a large body before all of it is read. No such body holds seals. */
export interface RequestOutline {
  /** The value's fields. Those with long texts in them are read when asked for. */
  readonly fields: JsonObject
  /** Where they stand in the body's bytes. */
  readonly members: readonly Member[]
  /** About how many tokens the body is. */
  readonly tokens: number
}

/** The body for those who look at few of its fields. */
export const fieldsOf = (request: RequestBody): JsonObject => request.outline?.fields ?? request.value

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
      checkAnswer(value, codec)
      const { error, usage, units, finish, received } = tapQuietly(codec, value)
      if (error !== undefined) throw errorOf(error)
      const answer: { -readonly [K in keyof WholeAnswer]: WholeAnswer[K] } = { body }
      put(answer, 'contentType', contentType)
      put(answer, 'usage', usage)
      put(answer, 'units', units)
      put(answer, 'finish', finish)
      const stored = edit?.storesAnswer === true ? receivedIds('responses', [value.id]) : undefined
      put(answer, 'received', stored === undefined ? received : [...(received ?? []), ...stored])
      return answer
    },
    openStream: () =>
      passingStream({
        tap: codec.tapStream({
          withholdUsage: edit?.erase !== undefined,
          target,
          asked: fields,
          storesAnswer: edit?.storesAnswer === true,
          client,
        }),
        maxEventChars,
        redactor,
        says: codec.says,
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
