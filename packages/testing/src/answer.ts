import type { Answer } from './compose.ts'
import { errorBody, errorOfStatus, statusOfType, type WireError } from './errors.ts'
import { beforeHeaders, FaultError, faultNamed, needsPieces, play } from './faults.ts'
import type { Signing } from './headers.ts'
import type { Exchange } from './ledger.ts'
import { cutBytes, cutEvents, dataPiece, eventPiece, type Piece } from './piece.ts'
import type { Prompt } from './prompt.ts'
import { type ChatStyle, chatBody, chatEvents } from './render-chat.ts'
import { messagesBody, messagesEvents } from './render-messages.ts'
import type { FakeFormat, Fault, Json, RawReply, Script } from './types.ts'

/** What an answer is sent with. */
export interface Sending {
  readonly exchange: Exchange
  readonly format: FakeFormat
  readonly script: Script
  readonly signing: Signing
  /** Milliseconds between words where the script names none. */
  readonly paceMs: number
}

/** What only generated answers need. */
export interface Generated {
  readonly prompt: Prompt
  readonly answer: Answer
  readonly chat: ChatStyle
  readonly padding: boolean
}

const jsonType = 'application/json'
const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
const page =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n'
/** JSON answers are cut into pieces of this many bytes when a fault counts them. */
const jsonPieceBytes = 64

const faultsOf = (script: Script): readonly Fault[] => {
  const fault = script.fault
  if (fault === undefined) return []
  const list: readonly Fault[] = 'type' in fault ? [fault] : fault
  return list.map((one) => (one.type === 'endless-line' ? { ...one, after: one.after ?? 0 } : one))
}

/** An error in the format's shape. */
export function errorResponse(
  sending: Omit<Sending, 'script' | 'paceMs'>,
  error: WireError,
  extra: Record<string, string> = {},
): Response {
  const { exchange, format, signing } = sending
  const body = JSON.stringify(errorBody(format, error, signing.requestId), null, format === 'chat' ? 2 : undefined)
  // Anthropic says of its client errors that another try is no use.
  const retry = format === 'messages' && error.status < 500 && error.status !== 429 && error.status !== 409
  const headers = {
    ...signing.headers,
    'content-type': jsonType,
    ...(retry ? { 'x-should-retry': 'false' } : {}),
    ...extra,
  }
  exchange.answered(error.status)
  exchange.settle('finished')
  return new Response(body, { status: error.status, headers })
}

/** Sends what a script asks for. `generated` is undefined for raw replies. */
export async function respond(sending: Sending, generated: Generated | undefined): Promise<Response> {
  const { exchange, script, format } = sending
  const faults = faultsOf(script)
  exchange.signal.throwIfAborted()
  try {
    await beforeHeaders(faults, exchange.signal)
  } catch (error) {
    if (error instanceof FaultError) exchange.settle('faulted')
    throw error
  }
  if (faultNamed(faults, 'html')) return plain(sending, page, 'text/html; charset=utf-8')
  if (faultNamed(faults, 'empty')) return plain(sending, '', jsonType)
  if (script.raw) return rawResponse(sending, script.raw, faults)
  if (script.status !== undefined && script.status >= 400) {
    return errorResponse(sending, errorOfStatus(format, script.status, script.error), { ...script.headers })
  }
  if (!generated) return plain(sending, '', jsonType)
  return generated.prompt.stream || script.events
    ? streamed(sending, generated, faults)
    : whole(sending, generated, faults)
}

function plain({ exchange, script, signing }: Sending, body: string, type: string): Response {
  exchange.answered(200)
  exchange.settle('faulted')
  return new Response(body, { status: 200, headers: { ...signing.headers, 'content-type': type, ...script.headers } })
}

function streamed(sending: Sending, generated: Generated, faults: readonly Fault[]): Response {
  const { format, script, signing } = sending
  const { answer, prompt } = generated
  const pieces: Iterable<Piece> =
    script.events?.map((event) => {
      const data = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
      return event.event === undefined ? dataPiece(data, true) : eventPiece(event.event, data, true)
    }) ?? (format === 'chat' ? chatEvents(answer, prompt, generated.chat) : messagesEvents(answer, generated.padding))
  const headers = { ...signing.headers, ...streamHeaders, ...script.headers }
  return bodyResponse(sending, pieces, faults, script.status ?? 200, headers)
}

function whole(sending: Sending, generated: Generated, faults: readonly Fault[]): Response {
  const { exchange, format, script, signing } = sending
  const mishap = faultNamed(faults, 'error-event')
  if (mishap) {
    // No stream to put the event into: the error is the answer.
    const type = mishap.error ?? (format === 'chat' ? 'server_error' : 'api_error')
    const own = { type, ...(mishap.message === undefined ? {} : { message: mishap.message }) }
    return errorResponse(sending, errorOfStatus(format, statusOfType(format, type), own), { ...script.headers })
  }
  const body: Json =
    script.body ??
    (format === 'chat' ? chatBody(generated.answer, generated.prompt, generated.chat) : messagesBody(generated.answer))
  const text = script.body === null ? 'null' : JSON.stringify(body, null, format === 'chat' ? 2 : undefined)
  const headers = { ...signing.headers, 'content-type': jsonType, ...script.headers }
  const status = script.status ?? 200
  const bytes = new TextEncoder().encode(text)
  const wrong = faultNamed(faults, 'content-length')
  if (wrong) Object.assign(headers, { 'content-length': String(bytes.length + (wrong.by ?? 100)) })
  if (needsPieces(faults)) return bodyResponse(sending, cutBytes(bytes, jsonPieceBytes), faults, status, headers)
  exchange.answered(status)
  exchange.settle(wrong ? 'faulted' : 'finished')
  return new Response(bytes, { status, headers })
}

function rawResponse(sending: Sending, raw: RawReply, faults: readonly Fault[]): Response {
  const bytes = typeof raw.body === 'string' ? new TextEncoder().encode(raw.body) : raw.body
  const head = new TextDecoder().decode(bytes.subarray(0, 512))
  const stream = /^(\uFEFF)?\s*(event:|data:|:|id:|retry:)/.test(head)
  const headers: Record<string, string> = { ...(stream ? streamHeaders : { 'content-type': jsonType }), ...raw.headers }
  const wrong = faultNamed(faults, 'content-length')
  if (wrong) headers['content-length'] = String(bytes.length + (wrong.by ?? 100))
  const paced = needsPieces(faults) || (sending.script.paceMs ?? 0) > 0
  const pieces = raw.chunks !== undefined ? cutBytes(bytes, raw.chunks) : paced ? cutEvents(bytes) : cutBytes(bytes, [])
  return bodyResponse(sending, pieces, faults, raw.status ?? 200, headers)
}

const bodyless = new Set([204, 205, 304])

/** A body that is made no faster than it is read, and notices when its reader leaves. */
function bodyResponse(
  sending: Sending,
  pieces: Iterable<Piece>,
  faults: readonly Fault[],
  status: number,
  headers: Record<string, string>,
): Response {
  const { exchange, format, signing, script } = sending
  exchange.answered(status)
  if (bodyless.has(status)) {
    exchange.settle('finished')
    return new Response(null, { status, headers })
  }
  const source = play(pieces, {
    faults,
    paceMs: script.paceMs ?? sending.paceMs,
    signal: exchange.signal,
    onFault: () => exchange.settle('faulted'),
    errorPiece: (fault) => {
      const type = fault.error ?? (format === 'chat' ? 'server_error' : 'overloaded_error')
      const error = errorOfStatus(format, statusOfType(format, type), {
        type,
        ...(fault.message === undefined ? {} : { message: fault.message }),
      })
      const body = errorBody(format, error, signing.requestId)
      return format === 'chat' ? dataPiece(body) : eventPiece('error', body)
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
