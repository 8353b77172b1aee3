import { lazy } from '../base/async.ts'
import { errorFromInfo, GatewayError } from '../base/errors.ts'
import { editJson, spliceJson } from '../base/json/edit.ts'
import { type Json, type JsonObject, put, sourceText } from '../base/json/json.ts'
import { checkResponse, type ResponseCheck } from '../formats/check-response.ts'
import type { ClientQuirks, ResponseTap, TargetTraits, WireCodec } from '../formats/codec.ts'
import { createReport } from '../formats/loss-report.ts'
import { receivedReferences } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { requestedTier } from '../formats/shared/billed.ts'
import { encodeAllSse, encodeText } from '../http/sse/encode.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'
import type { Lane, ResponseStream, WholeResponse } from './lane.ts'
import type { PassThroughStreamOptions } from './pass-through-stream.ts'

/**
 * The API that client and upstream share, as a pass-through lane sees it. The codec of a format is one; model operations and token
 * counts describe theirs in the same terms.
 */
export type PassThroughDialect = ResponseCheck &
  Pick<WireCodec, 'tapResponse'> & {
    readonly [K in 'format' | 'wireEdit' | 'tapStream' | 'textFields' | 'tierFields']?: WireCodec[K] | undefined
  } & {
    readonly passes?: Lane['passes']
    /** Splits a whole response into the events that a streaming client waits for. */
    asEvents?: ((body: JsonObject, request: JsonObject) => readonly SseEvent[]) | undefined
  }

/** A lane that can open its stream in another way than for server-sent events. */
export interface PassThroughLane extends Lane {
  openWith(open: (options: PassThroughStreamOptions) => ResponseStream): ResponseStream
}

/**
 * Creates the lane for a client and an upstream that speak the same API. The body passes unchanged except for the model's name and
 * the dialect's own edit; the response's bytes pass unchanged. A tap reads usage and the ending.
 *
 * @param maxEventChars characters of one event of a stream
 * @param upload body, headers and fields in place of the request's JSON
 */
export function passThroughLane(
  dialect: PassThroughDialect,
  request: RequestBody,
  target: TargetTraits,
  maxEventChars: number,
  redactor: Redactor,
  client?: ClientQuirks | undefined,
  upload?: Pick<Lane, 'body' | 'headers' | 'form'>,
): PassThroughLane {
  // Closures hold the fields, not the request: its text and bytes must be freed while the stream still runs.
  const { fields } = request
  const edit = dialect.wireEdit?.(fields, target)
  const report = createReport(fields)
  for (const loss of edit?.losses ?? []) report.add(loss)
  const { asEvents } = dialect
  const openWith: PassThroughLane['openWith'] = (open) => {
    if (dialect.tapStream === undefined) throw new GatewayError('internal', 'This endpoint does not support streaming.')
    const tap = dialect.tapStream({
      withholdUsage: edit?.erase !== undefined,
      target,
      request: fields,
      storesResponse: edit?.storesResponse === true,
      client,
    })
    return open({ tap, maxEventChars, redactor, textFields: dialect.textFields, erase: edit?.erase })
  }
  return {
    kind: 'wire',
    upstreamFormat: dialect.format,
    body: upload === undefined ? setModel(request, target.model, { ...edit?.set }, edit?.drop) : upload.body,
    headers: upload?.headers,
    form: upload?.form,
    flags: edit?.flags,
    tier: requestedTier(fields, dialect.tierFields),
    report,
    readResponse(bytes) {
      const { value, body, contentType } = parseResponse(bytes, redactor)
      const { usage, units, finish, received } = tapChecked(dialect, value)
      const response: { -readonly [K in keyof WholeResponse]: WholeResponse[K] } = { body }
      put(response, 'contentType', contentType)
      put(response, 'usage', usage)
      put(response, 'units', units)
      put(response, 'finish', finish)
      const stored = edit?.storesResponse === true ? receivedReferences('responses', [value.id]) : undefined
      put(response, 'received', stored === undefined ? received : [...(received ?? []), ...stored])
      return response
    },
    loadStream() {
      const loading = streams()
      return loading instanceof Promise ? loading : undefined
    },
    openStream() {
      const open = streams()
      if (open instanceof Promise) throw new Error('The module of streams is not loaded: wait for loadStream')
      return openWith(open)
    },
    openWith,
    passes: dialect.passes,
    asEvents:
      asEvents === undefined
        ? undefined
        : (bytes) => {
            const { value } = parseResponse(bytes, redactor)
            tapChecked(dialect, value)
            return encodeText(encodeAllSse(asEvents(value, fields)))
          },
  }
}

/** Loads the reading of streams, with the first call that streams. */
export const streams = lazy(() => import('./pass-through-stream.ts').then((found) => found.passThroughStream))

/** Reads a response's usage and ending. Throws the error that came in place of a response under a good status. */
function tapChecked(dialect: PassThroughDialect, body: JsonObject): ResponseTap {
  if (dialect.isResponse?.(body) !== true || dialect.errorWithin?.(body) !== undefined) checkResponse(body, dialect)
  let tapped: ResponseTap
  try {
    tapped = dialect.tapResponse(body)
  } catch {
    // Accounting must never break a response that the client can read.
    return {}
  }
  if (tapped.error !== undefined) throw errorFromInfo(tapped.error)
  return tapped
}

/**
 * Returns the body with the upstream's name of the model, the members to `set`, and without those to `drop`; the very bytes if nothing
 * changes.
 */
function setModel(
  request: RequestBody,
  name: string,
  set: JsonObject,
  drop: readonly string[] = [],
): string | Uint8Array {
  const { outline } = request
  const { model } = request.fields
  // Most bodies need no change. A second name of the model has been rejected (`checkNamedModels`).
  if (model === name && drop.length === 0 && !hasKeys(set)) return request.bytes
  const source = outline === undefined ? request.text : request.bytes
  const { members } = outline ?? request
  if (model !== name) {
    // A prefix before the name may stay.
    const { modelPrefix = '' } = request
    for (const { key, start, end } of members) {
      if (key.toLowerCase() !== 'model') continue
      const written: unknown = JSON.parse(sourceText(source, start, end))
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

/** An upstream's whole JSON body, without the upstream's secrets. */
export interface ParsedResponse {
  readonly value: JsonObject
  /** The very bytes of the upstream, unless something was redacted. */
  readonly body: string | Uint8Array
  /** Present for bytes that are not UTF-8: JSON without the charset that such bytes do not have. */
  readonly contentType?: string
}

const decoder = new TextDecoder()

/**
 * Parses and redacts a whole JSON body of an upstream. Both lanes read responses here only, so that no secret passes. Throws
 * GatewayError `upstream_bad_response` for anything but an object.
 */
export function parseResponse(bytes: Uint8Array, redactor: Redactor): ParsedResponse {
  return parseResponseText(decoder.decode(bytes), bytes, redactor)
}

/** Does the same for a response that has been decoded. @param text of the bytes */
export function parseResponseText(text: string, bytes: Uint8Array, redactor: Redactor): ParsedResponse {
  const value = parseObject(text)
  const body = redactor.isClean(value) ? text : redactor.redactJson(text)
  if (body !== text) return { value: parseObject(body), body }
  return isReplaced(text, bytes) ? { value, body: bytes, contentType: 'application/json' } : { value, body: bytes }
}

/** Returns whether decoding replaced bytes that are not UTF-8. Few texts hold the replacement character, so the second decoding is rare. */
function isReplaced(text: string, bytes: Uint8Array): boolean {
  if (!text.includes('\ufffd')) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return false
  } catch {
    return true
  }
}

function parseObject(text: string): JsonObject {
  let body: Json
  try {
    body = JSON.parse(text) as Json
  } catch (cause) {
    throw new GatewayError('upstream_bad_response', 'The upstream responded with a body that is not JSON.', { cause })
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw new GatewayError('upstream_bad_response', 'The upstream responded with JSON that is not an object.')
  return body
}
