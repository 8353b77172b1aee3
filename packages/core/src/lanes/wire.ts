import { errorOf, GatewayError } from '../errors.ts'
import type { ResponseTap, TargetTraits, WireCodec } from '../formats/codec.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { put } from '../formats/shared/strict.ts'
import { editJson } from '../json/edit.ts'
import type { Member } from '../json/scan.ts'
import { slice } from '../json/source.ts'
import { spliceJson } from '../json/splice.ts'
import { createReport } from '../losses.ts'
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

const decoder = new TextDecoder()

/**
 * Client and upstream speak the same format: the body passes as it came but for the model's name and what the codec's
 * own `wireEdit` asks for; the answer's bytes pass untouched. A tap reads usage and the ending on the side.
 *
 * @param redact takes the upstream's secrets out of an error event's text, the one place where its own words are no answer
 */
export function wireLane(
  codec: WireCodec,
  request: RequestBody,
  target: TargetTraits,
  maxEventChars: number,
  redact: (text: string) => string,
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
      const body = parseAnswer(bytes)
      const { error, usage, units, finish, received } = tapQuietly(codec, body)
      if (error !== undefined) throw errorOf(error)
      // An answer may say that it failed, and why: these are no words of a model.
      const answer: { -readonly [K in keyof WholeAnswer]: WholeAnswer[K] } = {
        body: body.error ? redact(decoder.decode(bytes)) : bytes,
      }
      put(answer, 'usage', usage)
      put(answer, 'units', units)
      put(answer, 'finish', finish)
      put(answer, 'received', received)
      return answer
    },
    openStream: () =>
      passingStream({
        tap: codec.tapStream({ withholdUsage: edit?.erase !== undefined, target }),
        maxEventChars,
        redact,
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
  // Nothing is to be changed in most bodies.
  if (model === name && outline === undefined && drop.length === 0 && !hasKeys(set) && namesModelOnce(request))
    return request.bytes
  const source = outline === undefined ? request.text : request.bytes
  const { members } = outline ?? request
  // Also where the name stays: of a name given twice, in whatever case, the upstream might read the one that nobody checked.
  const named = members.filter(({ key }) => key.toLowerCase() === 'model')
  if (model !== name || named.length > 1) {
    // What stands in front of the name may stay there.
    const { modelPrefix = '' } = request
    for (const { key, start, end } of named) {
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

/** Whether a short look tells that no key of the body is another spelling of the model's, nor the same again. */
function namesModelOnce({ text, value }: RequestBody): boolean {
  if (text.includes('\\u')) return false
  for (const key in value) if (key.length === 5 && key !== 'model' && key.toLowerCase() === 'model') return false
  let found = 0
  // There are fewer places with this than with a quote, where a search for all of it would begin.
  for (let at = text.indexOf('model"'); at > 0; at = text.indexOf('model"', at + 6))
    if (text.charCodeAt(at - 1) === quote) found++
  return found < 2
}
const quote = 0x22

/** An upstream's whole answer as JSON; anything else under a 200 is an unusable answer. */
export function parseAnswer(bytes: Uint8Array): JsonObject {
  let body: Json
  try {
    body = JSON.parse(decoder.decode(bytes)) as Json
  } catch (cause) {
    throw new GatewayError('upstream_bad_response', 'The upstream answered with something that is not JSON.', { cause })
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw new GatewayError('upstream_bad_response', 'The upstream answered with JSON that is not an object.')
  return body
}

/** Accounting must never break an answer that the client could read. */
function tapQuietly(codec: WireCodec, body: JsonObject): ResponseTap {
  try {
    return codec.tapResponse(body)
  } catch {
    return {}
  }
}
