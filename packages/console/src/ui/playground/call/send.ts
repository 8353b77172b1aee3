import { bodyOf } from '../formats/form.ts'
import type { Api, ApiRequest, Exchange, Json, Piece, RawEvent } from '../formats/format.ts'
import { errorPiece, objectOf } from '../formats/read.ts'
import { createEventReader } from './sse-parser.ts'

export interface Sending {
  readonly format: Api
  readonly request: ApiRequest
  /** The gateway's address, without a trailing slash. */
  readonly gateway: string
  /** Empty: no token is sent. */
  readonly token: string
  readonly signal: AbortSignal
  /** Called as the exchange grows, at most once in `everyMs`. */
  readonly onProgress: (exchange: Exchange) => void
  /** Default: the browser's. */
  readonly fetch?: typeof fetch
}

/** Interval of updates while a response streams in. */
const everyMs = 33

/** Returns the headers with the token; none for gateways without authentication. */
export const credentialOf = (format: Pick<Api, 'credential'>, token: string): Readonly<Record<string, string>> =>
  token === '' ? {} : format.credential(token)

/** Makes the call. Never rejects: an error becomes a piece of the exchange. */
export async function send(sending: Sending): Promise<Exchange> {
  const { format, request, gateway, token, signal, onProgress } = sending
  const startedAt = performance.now()
  const events: RawEvent[] = []
  const pieces: Piece[] = []
  let head: Pick<Exchange, 'status' | 'responseHeaders'> = {}
  const streamLosses: string[] = []
  let media: Blob | undefined
  let firstPieceAt: number | undefined
  let shownAt = 0

  const now = (): number => performance.now() - startedAt
  const exchange = (outcome: Exchange['outcome']): Exchange => ({
    format,
    request,
    ...head,
    // Copied, because rendering compares by identity.
    events: [...events],
    pieces: [...pieces],
    ...(media === undefined ? {} : { media }),
    ...(streamLosses.length === 0 ? {} : { streamLosses: streamLosses.join(', ') }),
    ...(firstPieceAt === undefined ? {} : { firstPieceAt }),
    ...(outcome === 'running' ? {} : { endedAt: now() }),
    outcome,
  })
  const add = (more: readonly Piece[]): void => {
    if (more.some(isSpoken)) firstPieceAt ??= now()
    pieces.push(...more)
  }
  const fail = (message: string, body: Json): void => void pieces.push({ type: 'error', message, body })

  async function receive(response: Response): Promise<void> {
    head = { status: response.status, responseHeaders: Object.fromEntries(response.headers) }
    const type = response.headers.get('content-type') ?? ''
    if (response.ok && format.readFile !== undefined && !/json|event-stream/.test(type)) {
      media = await response.blob()
      const text = type.startsWith('text/') ? await media.text() : `(${type || 'no type'}, ${media.size} bytes)`
      events.push({ data: text, at: now() })
      add(format.readFile(text))
      return
    }
    if (!response.ok || !type.startsWith('text/event-stream') || response.body === null) {
      const text = await response.text()
      events.push({ data: text, at: now() })
      const body = parseJson(text)
      if (!response.ok) pieces.push(errorPiece(body ?? text, `The gateway returned status ${response.status}.`))
      else if (typeof body !== 'object') fail('The response is neither JSON nor an event stream.', text)
      else add(format.readAnswer(objectOf(body)))
      return
    }
    const read = createEventReader((comment) => {
      const losses = /^modelgate-loss (.+)/.exec(comment)?.[1]
      if (losses !== undefined) streamLosses.push(losses)
    })
    const bytes = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await bytes.read()
      if (done) return
      for (const event of read(value)) {
        events.push({ ...event, at: now() })
        add(format.readEvent(event))
      }
      if (now() - shownAt >= everyMs) {
        shownAt = now()
        onProgress(exchange('running'))
      }
    }
  }

  onProgress(exchange('running'))
  try {
    const response = await (sending.fetch ?? fetch)(`${gateway}${request.path}`, {
      method: 'POST',
      headers: { ...request.headers, ...credentialOf(format, token) },
      body: bodyOf(request),
      cache: 'no-store',
      signal,
    })
    await receive(response)
    if (!pieces.some(isEnding) && head.status === 200) fail('The response ended before it was complete.', null)
  } catch (error) {
    if (signal.aborted) return exchange('stopped')
    const why = error instanceof Error ? error.message : String(error)
    fail(
      head.status === undefined ? `The gateway could not be reached: ${why}` : `The connection was lost: ${why}`,
      null,
    )
  }
  return exchange(pieces.some(({ type }) => type === 'error') ? 'failed' : 'finished')
}

const isSpoken = ({ type }: Piece): boolean => type === 'text' || type === 'reasoning' || type === 'tool-call'
const isEnding = ({ type }: Piece): boolean => type === 'finish' || type === 'error'

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
