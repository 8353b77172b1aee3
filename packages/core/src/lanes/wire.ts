import { errorOf, GatewayError } from '../errors.ts'
import type { ResponseTap, TargetTraits, WireCodec } from '../formats/codec.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { editJson } from '../json/edit.ts'
import type { Member } from '../json/scan.ts'
import { spliceJson } from '../json/splice.ts'
import { createReport } from '../losses.ts'
import type { Lane } from './lane.ts'
import { passingStream } from './passing-stream.ts'

/** The client's body in every form the lanes need, read once. */
export interface RequestBody {
  readonly bytes: Uint8Array
  readonly text: string
  readonly members: readonly Member[]
  readonly value: JsonObject
  /** See Codec: what the body may have in front of a model's name that its path says. */
  readonly modelPrefix?: string | undefined
}

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
  const edit = codec.wireEdit(request.value, target)
  const report = createReport(request.value)
  for (const loss of edit?.losses ?? []) report.add(loss)
  return {
    kind: 'wire',
    upstreamFormat: codec.format,
    body: setModel(request, target.model, { ...edit?.set }, edit?.drop),
    report,
    answer(bytes) {
      const { error, ...tapped } = tapQuietly(codec, parseAnswer(bytes))
      if (error !== undefined) throw errorOf(error)
      return { body: bytes, ...tapped }
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
  // Also where the name stays: of a name given twice, in whatever case, the upstream might read the one that nobody checked.
  const named = request.members.filter(({ key }) => key.toLowerCase() === 'model')
  const { model } = request.value
  if (model !== name || named.length > 1)
    for (const { key, start, end } of named) set[key] = renamed(request, request.text.slice(start, end), name)
  if (drop.length > 0) return editJson(request.text, request.members, set, drop)
  return Object.keys(set).length === 0 ? request.bytes : spliceJson(request.text, request.members, set)
}

/** What stands in front of the name may stay there. */
function renamed({ value, modelPrefix = '' }: RequestBody, written: string, name: string): string {
  const own: unknown = JSON.parse(written)
  return own === modelPrefix + String(value.model) ? modelPrefix + name : name
}

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
