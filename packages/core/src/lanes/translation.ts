import { GatewayError } from '../base/errors.ts'
import { type JsonObject, nestsDeeper, stringifyExact } from '../base/json/json.ts'
import { hasExactNumbers, parseExact } from '../base/json/parse.ts'
import type { UpstreamFormat } from '../base/names.ts'
import { checkResponse, type ResponseCheck } from '../formats/check-response.ts'
import type { RequestFlags } from '../formats/codec.ts'
import type { Report } from '../formats/ir.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { encodeAllSse, encodeText } from '../http/sse/encode.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'
import type { Lane, ResponseStream, WholeResponse } from './lane.ts'
import { parseResponse, parseResponseText } from './pass-through.ts'

/**
 * The client's half of one API and the upstream's half of another, for one target. Generation, model operations and token counts each
 * have one:
 *
 *     client's body   ── decodeRequest ──▶ Request  ── encodeRequest ──▶  upstream's body
 *     client's body ◀── encodeResponse ── Response ◀── decodeResponse ──  upstream's body
 */
export interface Translation<Request, Response, Context> {
  readonly upstreamFormat?: UpstreamFormat | undefined
  /** Tells the upstream's whole responses from errors under a good status. */
  readonly responseCheck: ResponseCheck
  /** Numbers of responses keep all their digits, and responses nest no deeper than this. Default: doubles, of any depth. */
  readonly exactDepth?: number
  decodeRequest(body: JsonObject): Request
  encodeRequest(request: Request): EncodedRequest
  /** Creates the context in which one response is decoded and encoded. */
  openContext(request: Request): Context
  decodeResponse(body: JsonObject, context: Context): Response
  encodeResponse(response: Response, context: Context): WholeResponse
  /** Splits a whole response into the events that a streaming client waits for. */
  encodeEvents?: ((response: Response, context: Context) => readonly SseEvent[]) | undefined
  /** @param isLarge whether the request is so large that the stream should not hold the contents of its turns */
  openStream(request: Request, isLarge: boolean): ResponseStream
  /** See Lane. */
  clientParam?(param: string, request: Request): string | undefined
}

/** A request in the upstream's API. */
export interface EncodedRequest {
  readonly body: JsonObject
  /** See Lane. */
  readonly flags?: RequestFlags | undefined
  /** See Lane. */
  readonly restricted?: boolean | undefined
  /** The tier with prices of its own that the body asks for. */
  readonly tier?: string | undefined
}

/**
 * Creates the lane for a client and an upstream that speak different APIs: decodes the client's request and encodes it for the
 * upstream, and the response the other way round.
 *
 * @param body the client's, with exact numbers (`exactValue`)
 */
export function translationLane<Request, Response, Context>(
  translation: Translation<Request, Response, Context>,
  body: JsonObject,
  report: Report,
  redactor: Redactor,
): Lane {
  const request = translation.decodeRequest(body)
  const encoded = translation.encodeRequest(request)
  const { encodeEvents } = translation
  const text = stringifyExact(encoded.body)
  const isLarge = text.length >= largeChars
  const decode = (bytes: Uint8Array, context: Context): Response => {
    const { exactDepth } = translation
    const value =
      exactDepth === undefined ? parseResponse(bytes, redactor).value : parseExactResponse(bytes, redactor, exactDepth)
    checkResponse(value, translation.responseCheck)
    return translation.decodeResponse(value, context)
  }
  return {
    kind: 'translate',
    upstreamFormat: translation.upstreamFormat,
    body: isLarge ? encodeText(text) : text,
    flags: encoded.flags,
    restricted: encoded.restricted,
    tier: encoded.tier,
    report,
    readResponse(bytes) {
      const context = translation.openContext(request)
      return translation.encodeResponse(decode(bytes, context), context)
    },
    openStream: () => translation.openStream(request, isLarge),
    asEvents:
      encodeEvents === undefined
        ? undefined
        : (bytes) => {
            const context = translation.openContext(request)
            return encodeText(encodeAllSse(encodeEvents.call(translation, decode(bytes, context), context)))
          },
    clientParam:
      translation.clientParam === undefined ? undefined : (param) => translation.clientParam?.(param, request),
  }
}

/**
 * From this size on, memory matters more than the cost of a conversion. The body is held as bytes until its response arrives: as text,
 * it takes up to four times the memory of its bytes, and in the heap, where each collection handles it again. V8 writes JSON in pieces,
 * and with two bytes for each character if one of them is not Latin. The stream of the response holds the request without the contents
 * of its turns.
 */
const largeChars = 16_384

const decoder = new TextDecoder()

/**
 * Parses and redacts a response as `parseResponse` does, for one that is encoded again: its numbers keep all digits. Throws GatewayError
 * `upstream_bad_response` for a body that nests deeper than `maxDepth`.
 */
function parseExactResponse(bytes: Uint8Array, redactor: Redactor, maxDepth: number): JsonObject {
  const text = decoder.decode(bytes)
  if (nestsDeeper(text, maxDepth)) throw tooDeep()
  const { value, body } = parseResponseText(text, bytes, redactor)
  const clean = typeof body === 'string' ? body : text
  return hasExactNumbers(clean) ? (parseExact(clean) as JsonObject) : value
}

/** The error for JSON that nests deeper than the client's encoder can write. */
export const tooDeep = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream responded with JSON that is nested too deep.')

/**
 * Returns the body's value with exact numbers, for what is encoded again. Validation and routing read the plain value, where
 * numbers are doubles. Members that the path adds to the value, and the text lacks, are in both.
 */
export function exactValue({ text, value }: Pick<RequestBody, 'text' | 'value'>): JsonObject {
  if (!hasExactNumbers(text)) return value
  const exact = parseExact(text) as JsonObject
  const body: JsonObject = { ...value }
  for (const key of Object.keys(value)) {
    const member = Object.hasOwn(exact, key) ? exact[key] : undefined
    // Texts and booleans may be the path's: they hold no numbers.
    if (member !== undefined && typeof member !== 'string' && typeof member !== 'boolean') body[key] = member
  }
  return body
}
