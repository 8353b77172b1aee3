import { type Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { clientFormatRows, namedIn, pathOf, queryOf } from '../base/client-formats.ts'
import { FrameReader, hasFrames, readableText } from '../base/frames.ts'
import type { Pair, Target } from './check.ts'

/** A client's request. */
export interface TargetRequest extends Pair {
  /** The prompt. A scene's marker in it selects the upstream's script. */
  readonly text: string
  /** Default false. */
  readonly stream?: boolean
  /** Default: the target's model for this upstream. */
  readonly model?: string
  /** Additional top-level fields. */
  readonly more?: Readonly<Record<string, unknown>>
  /** Replaces the smallest body with the prompt. */
  readonly body?: string | Uint8Array
  /** In addition to the headers that the target needs; an empty value removes a header. */
  readonly headers?: Readonly<Record<string, string>>
}

const modelOf = (target: Target, ask: TargetRequest): string => ask.model ?? target.model(ask.upstream)

/** Returns the smallest body of the format with this prompt. */
export const bodyFor = (target: Target, ask: TargetRequest): string =>
  JSON.stringify({
    ...namedIn(ask.client, modelOf(target, ask), ask.stream ?? false),
    ...clientFormatRows[ask.client].prompt(ask.text),
    ...ask.more,
  })

/** Returns path and query of the call. */
export const pathFor = (target: Target, ask: TargetRequest): string => {
  const requested = { model: modelOf(target, ask), stream: ask.stream ?? false }
  return `${pathOf(ask.client, requested)}${queryOf(ask.client, requested)}`
}

export const headersFor = (target: Target, ask: TargetRequest): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      'content-type': 'application/json',
      ...clientFormatRows[ask.client].headers,
      ...target.headers(ask),
      ...ask.headers,
    }).filter(([, value]) => value !== ''),
  )

/** Sends the call without waiting for its response. Errors without a listener are ignored. */
export function send(target: Target, ask: TargetRequest, agent: Agent | false = false): ClientRequest {
  const outgoing = request(`${target.origin}${pathFor(target, ask)}`, {
    method: 'POST',
    agent,
    headers: headersFor(target, ask),
  })
  outgoing.on('error', () => {})
  outgoing.end(ask.body ?? bodyFor(target, ask))
  return outgoing
}

/** A response with its times. */
export interface HttpResponse {
  /** 0 without a response. */
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** Milliseconds from sending to the response head, and to the end. */
  readonly headMs: number
  readonly endMs: number
  /** Reason why the response is incomplete: the connection broke, or the time limit passed. */
  readonly broken: string | undefined
}

/** Returns the text of a response, and what is wrong with its frames. */
export function decodedText(bytes: Buffer, contentType: string | undefined): { text: string; defect?: string } {
  if (!hasFrames(contentType)) return { text: bytes.toString('utf8') }
  try {
    return { text: readableText(bytes, contentType) }
  } catch (error) {
    return { text: '', defect: `invalid frames: ${String(error)}` }
  }
}

export interface ExchangeOptions {
  /** Default false: a new connection. */
  readonly agent?: Agent | false
  /** Time limit of the response in milliseconds. Default: 30 s. */
  readonly withinMs?: number
  /** Called with each received piece. */
  readonly onData?: (part: Buffer, contentType: string | undefined) => void
}

/** Sends one request and reads the response; never rejects. */
export function exchange(
  target: Target,
  ask: TargetRequest,
  { agent = false, withinMs = 30_000, onData }: ExchangeOptions = {},
): Promise<HttpResponse> {
  return new Promise((resolve) => {
    const begun = performance.now()
    const parts: Buffer[] = []
    let status = 0
    let headers: IncomingHttpHeaders = {}
    let headMs = Number.NaN
    const outgoing = send(target, ask, agent)
    const finish = (broken?: string): void => {
      clearTimeout(timer)
      const endMs = performance.now() - begun
      const bytes = Buffer.concat(parts)
      const { text, defect } = decodedText(bytes, headers['content-type'])
      resolve({ status, headers, bytes, text, headMs, endMs, broken: broken ?? defect })
    }
    const timer = setTimeout(() => {
      finish(`no end within ${withinMs} ms`)
      outgoing.destroy()
    }, withinMs)
    outgoing.on('error', (error) => finish(error.message))
    outgoing.on('response', (incoming) => {
      status = incoming.statusCode ?? 0
      headers = incoming.headers
      headMs = performance.now() - begun
      incoming.on('data', (part: Buffer) => {
        parts.push(part)
        onData?.(part, headers['content-type'])
      })
      incoming.on('error', (error) => finish(error.message))
      incoming.on('end', () => finish())
    })
  })
}

/** Step of a raw client: bytes, a wait, a half-close, a broken connection. */
export type RawStep = string | Uint8Array | { readonly wait: number } | 'end' | 'reset'

export interface RawExchange {
  /** All received bytes. */
  readonly raw: string
  /** Status of the first response; 0 without a response. */
  readonly status: number
  /** Milliseconds from the start of the connection to the first byte (NaN without a response), and to its end. */
  readonly firstMs: number
  readonly endMs: number
  /** True if the gateway closed the connection within `withinMs`. */
  readonly closed: boolean
  readonly error: string | undefined
}

/** Sends bytes on a new socket, without the corrections of a library. Never rejects. @param withinMs default: 10 s */
export function rawExchange(target: Target, steps: readonly RawStep[], withinMs = 10_000): Promise<RawExchange> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(target.origin)
    const begun = performance.now()
    const parts: Buffer[] = []
    let firstMs = Number.NaN
    let error: string | undefined
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const finish = (closed: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      const raw = Buffer.concat(parts).toString('latin1')
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(raw)?.[1] ?? 0)
      resolve({ raw, status, firstMs, endMs: performance.now() - begun, closed, error })
    }
    const timer = setTimeout(() => finish(false), withinMs)
    socket.on('data', (part) => {
      if (parts.length === 0) firstMs = performance.now() - begun
      parts.push(part)
    })
    socket.on('error', (cause) => {
      error = cause.message
    })
    socket.on('end', () => finish(true))
    socket.on('close', () => finish(true))
    const play = async (): Promise<void> => {
      for (const step of steps) {
        if (socket.destroyed) return
        if (step === 'end') socket.end()
        else if (step === 'reset') socket.resetAndDestroy()
        else if (typeof step === 'string' || step instanceof Uint8Array) socket.write(step)
        else await new Promise((done) => setTimeout(done, step.wait))
      }
    }
    void play()
  })
}

/**
 * Returns a request head as raw bytes, with the target's credential. @param headers additional headers; an empty value
 * removes a header
 */
export const rawRequest = (
  target: Target,
  ask: TargetRequest,
  headers: Readonly<Record<string, string>> = {},
): string => {
  const { host } = new URL(target.origin)
  const all = { host, ...headersFor(target, ask), ...headers }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}\r\n`]))
  return `POST ${pathFor(target, ask)} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Received text with its time. */
export interface Piece {
  readonly at: number
  readonly text: string
}

/** Events at a client, by `performance.now()`. */
export interface TimedResponse {
  readonly sentAt: number
  /** NaN without a response. */
  readonly headAt: number
  readonly status: number
  readonly pieces: readonly Piece[]
  readonly broken: string | undefined
}

/** Sends one request and records the time of every received piece. Never rejects. */
export async function exchangeTimed(
  target: Target,
  ask: TargetRequest,
  options: Omit<ExchangeOptions, 'onData'> = {},
): Promise<TimedResponse> {
  const decoder = new StringDecoder('utf8')
  const frames = new FrameReader()
  const pieces: Piece[] = []
  const onData = (part: Buffer, type: string | undefined): void => {
    const text = hasFrames(type) ? frames.push(part) : decoder.write(part)
    pieces.push({ at: performance.now(), text })
  }
  const sentAt = performance.now()
  const { status, headMs, broken } = await exchange(target, ask, { ...options, onData })
  return { sentAt, headAt: sentAt + headMs, status, pieces, broken }
}
