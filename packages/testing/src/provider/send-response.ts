import type { Json } from '../base/json.ts'
import type { Fault, RawReply, Script } from '../contract/script.ts'
import type { Media, ProviderConventions, RenderedAnswer } from '../formats/dialect.ts'
import type { ResponseHead } from '../formats/response-head.ts'
import type { Route } from '../formats/route.ts'
import { errorOfStatus, statusOfType, type WireError } from '../wire/errors.ts'
import { beforeHeaders, FaultError, faultNamed, needsPieces, playPieces } from '../wire/faults.ts'
import { cutBytes, cutEvents, dataPiece, eventPiece, type Piece } from '../wire/piece.ts'
import type { OpenCall } from './request-log.ts'

/** Everything needed to send a response. */
export interface ResponseContext {
  readonly exchange: OpenCall
  readonly conventions: ProviderConventions
  readonly route: Route | undefined
  readonly script: Script
  readonly responseHead: ResponseHead
  /** Milliseconds between words if the script sets none. */
  readonly paceMs: number
}

const eventStream = 'text/event-stream; charset=utf-8'
const htmlPage =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n'
/** Bytes per piece of a JSON response, in which faults count. */
const jsonPieceBytes = 64

const faultsOf = (script: Script): readonly Fault[] => {
  const fault = script.fault
  if (fault === undefined) return []
  const list: readonly Fault[] = 'type' in fault ? [fault] : fault
  return list.map((one) => (one.type === 'endless-line' ? { ...one, after: one.after ?? 0 } : one))
}

/** Returns an error in the provider's shape. */
export function errorResponse(
  context: Omit<ResponseContext, 'script' | 'paceMs'>,
  error: WireError,
  extra: Record<string, string> = {},
): Response {
  const { exchange, conventions, route, responseHead } = context
  const shape = conventions.errorBody(error, responseHead.requestId, extra)
  const body = JSON.stringify(route?.array ? [shape] : shape, null, conventions.indent)
  const headers = {
    ...responseHead.headers,
    'content-type': conventions.jsonType,
    ...conventions.errorHeaders(error),
    ...extra,
  }
  exchange.answered(error.status)
  exchange.settle('finished')
  return new Response(body, { status: error.status, headers })
}

/** A response to send, as a stream or whole. */
export interface Rendered {
  readonly rendering: RenderedAnswer
  readonly stream: boolean
}

/** Sends the response of a script. `rendered` is undefined for raw replies. */
export async function sendResponse(
  context: ResponseContext,
  rendered: (() => Rendered) | undefined,
): Promise<Response> {
  const { exchange, script, conventions } = context
  const faults = faultsOf(script)
  exchange.signal.throwIfAborted()
  try {
    await beforeHeaders(faults, exchange.signal)
  } catch (error) {
    if (error instanceof FaultError) exchange.settle('faulted')
    throw error
  }
  if (faultNamed(faults, 'html')) return plain(context, htmlPage, 'text/html; charset=utf-8')
  if (faultNamed(faults, 'empty')) return plain(context, '', conventions.jsonType)
  if (script.raw) return rawResponse(context, script.raw, faults)
  if (script.status !== undefined && script.status >= 400) {
    return errorResponse(context, errorOfStatus(conventions.errorTable, script.status, script.error), {
      ...script.headers,
    })
  }
  if (!rendered) return plain(context, '', conventions.jsonType)
  const { rendering, stream } = rendered()
  return stream || script.events ? streamed(context, rendering, faults) : whole(context, rendering, faults)
}

function plain({ exchange, script, responseHead }: ResponseContext, body: string, type: string): Response {
  exchange.answered(200)
  exchange.settle('faulted')
  return new Response(body, {
    status: 200,
    headers: { ...responseHead.headers, 'content-type': type, ...script.headers },
  })
}

function streamed(context: ResponseContext, rendering: RenderedAnswer, faults: readonly Fault[]): Response {
  const { conventions, route, script, responseHead } = context
  const pieces: Iterable<Piece> =
    script.events?.map((event) => {
      const data = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
      return event.event === undefined ? dataPiece(data, true) : eventPiece(event.event, data, true)
    }) ?? rendering.events()
  const type = route?.array ? conventions.jsonType : conventions.streamType
  const headers = { ...responseHead.headers, 'content-type': type, 'cache-control': 'no-cache', ...script.headers }
  return bodyResponse(context, rendering, pieces, faults, script.status ?? 200, headers)
}

function whole(context: ResponseContext, rendering: RenderedAnswer, faults: readonly Fault[]): Response {
  const { exchange, conventions, script, responseHead } = context
  const mishap = faultNamed(faults, 'error-event')
  // Without a stream there is no place for the event: the error is the response.
  if (mishap)
    return errorResponse(context, errorOfFault(conventions, mishap, conventions.errorTable[500].type), {
      ...script.headers,
    })
  const media = script.body === undefined ? rendering.media?.() : undefined
  if (media) return binary(context, rendering, media, faults)
  const body: Json = script.body ?? rendering.body()
  const text = script.body === null ? 'null' : JSON.stringify(body, null, conventions.indent)
  const headers = { ...responseHead.headers, 'content-type': conventions.jsonType, ...script.headers }
  const status = script.status ?? 200
  const bytes = new TextEncoder().encode(text)
  const wrong = faultNamed(faults, 'content-length')
  if (wrong) Object.assign(headers, { 'content-length': String(bytes.length + (wrong.by ?? 100)) })
  if (needsPieces(faults)) {
    return bodyResponse(context, rendering, cutBytes(bytes, jsonPieceBytes), faults, status, headers)
  }
  exchange.answered(status)
  exchange.settle(wrong ? 'faulted' : 'finished')
  return new Response(bytes, { status, headers })
}

/** Sends audio or plain text. */
function binary(context: ResponseContext, rendering: RenderedAnswer, media: Media, faults: readonly Fault[]): Response {
  const { script, responseHead } = context
  const headers: Record<string, string> = {
    ...responseHead.headers,
    'content-type': media.contentType,
    ...script.headers,
  }
  const wrong = faultNamed(faults, 'content-length')
  const whole = wrong && [...media.pieces]
  if (whole) {
    const length = whole.reduce((sum, piece) => sum + piece.bytes.length, 0)
    headers['content-length'] = String(length + (wrong.by ?? 100))
  }
  return bodyResponse(context, rendering, whole ?? media.pieces, faults, script.status ?? 200, headers)
}

function errorOfFault(
  conventions: ProviderConventions,
  fault: Extract<Fault, { type: 'error-event' }>,
  otherwise: string,
): WireError {
  const type = fault.error ?? otherwise
  return errorOfStatus(conventions.errorTable, statusOfType(conventions.errorTable, type), {
    type,
    ...(fault.message === undefined ? {} : { message: fault.message }),
  })
}

function rawResponse(context: ResponseContext, raw: RawReply, faults: readonly Fault[]): Response {
  const bytes = typeof raw.body === 'string' ? new TextEncoder().encode(raw.body) : raw.body
  const head = new TextDecoder().decode(bytes.subarray(0, 512))
  const stream = /^(\uFEFF)?\s*(event:|data:|:|id:|retry:)/.test(head)
  const headers: Record<string, string> = {
    'content-type': stream ? eventStream : 'application/json',
    ...(stream ? { 'cache-control': 'no-cache' } : {}),
    ...raw.headers,
  }
  const wrong = faultNamed(faults, 'content-length')
  if (wrong) headers['content-length'] = String(bytes.length + (wrong.by ?? 100))
  const paced = needsPieces(faults) || (context.script.paceMs ?? 0) > 0
  const pieces = raw.chunks !== undefined ? cutBytes(bytes, raw.chunks) : paced ? cutEvents(bytes) : cutBytes(bytes, [])
  return bodyResponse(context, undefined, pieces, faults, raw.status ?? 200, headers)
}

const bodyless = new Set([204, 205, 304])

/** Creates a response whose body is produced no faster than it is read, and that notices when its reader disconnects. */
function bodyResponse(
  context: ResponseContext,
  rendering: RenderedAnswer | undefined,
  pieces: Iterable<Piece>,
  faults: readonly Fault[],
  status: number,
  headers: Record<string, string>,
): Response {
  const { exchange, conventions, responseHead, script } = context
  exchange.answered(status)
  if (bodyless.has(status)) {
    exchange.settle('finished')
    return new Response(null, { status, headers })
  }
  const source = playPieces(pieces, {
    faults,
    paceMs: script.paceMs ?? context.paceMs,
    signal: exchange.signal,
    onFault: () => exchange.settle('faulted'),
    failure: (fault, sent) => {
      const error = errorOfFault(conventions, fault, conventions.defaultStreamErrorType)
      return rendering?.failure?.(error, sent) ?? [conventions.failurePiece(error, responseHead.requestId)]
    },
  })
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = (): void => controller.error(exchange.signal.reason)
        if (exchange.signal.aborted) fail()
        else exchange.signal.addEventListener('abort', fail, { once: true })
      },
      async pull(controller) {
        try {
          const { done, value } = await source.next()
          if (exchange.signal.aborted) return
          if (!done) return controller.enqueue(value)
          exchange.settle('finished')
          controller.close()
        } catch (error) {
          if (!exchange.signal.aborted) controller.error(error)
        }
      },
      cancel(reason) {
        exchange.leave(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { status, headers })
}
