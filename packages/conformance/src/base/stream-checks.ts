import type { Gateway, Inbound, Transport } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { expect } from 'vitest'
import { errorOf, readStream } from './client-events.ts'
import {
  type ClientFormat,
  clientFormatRows,
  type DialectError,
  errorNameIn,
  pathOf,
  queryOf,
} from './client-formats.ts'
import { eventData } from './content/content.ts'
import { readableText } from './frames.ts'
import { objectOf, parseJson } from './json.ts'
import type { Format } from './recorded-traffic.ts'
import { type Cuts, cut } from './upstream-fetch.ts'

const headers: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'anthropic-version': '2023-06-01',
}

/**
 * Creates a transport that returns these bytes in these pieces. It avoids web streams, because tests try millions of
 * splits.
 */
export const transportOf =
  (bytes: Uint8Array, cuts: Cuts = Math.max(1, bytes.length), breaks?: Error): Transport =>
  async () => ({
    status: 200,
    header: (name) => (name === 'content-type' ? 'text/event-stream' : undefined),
    bytes: async () => bytes,
    async *stream() {
      yield* cut(bytes, cuts)
      if (breaks !== undefined) throw breaks
    },
    discard() {},
  })

/** Returns the response to a streaming client of `format`: status, text and, where a header has it, the error's name. */
export async function fetchStream(
  gateway: Gateway,
  format: ClientFormat,
  body: string,
  transport: Transport,
): Promise<{ status: number; text: string; name: string }> {
  const inbound: Inbound = {
    method: 'POST',
    path: pathOf(format, { stream: true }),
    query: queryOf(format, { stream: true }).slice(1),
    header: (name) => headers[name],
    read: async () => new TextEncoder().encode(body),
    signal: new AbortController().signal,
  }
  const reply = await adapterFunctions(gateway).handle(inbound, transport)
  const { status } = reply
  const name = errorNameIn(format, (header) => reply.headers[header])
  if (typeof reply.body === 'string') return { status, text: reply.body, name }
  const parts: Uint8Array[] = []
  if (reply.body instanceof Uint8Array) parts.push(reply.body)
  else if (reply.body !== null) for await (const part of reply.body) parts.push(part)
  const text = readableText(Buffer.concat(parts), reply.headers['content-type'])
  return { status, text, name }
}

/** Returns the byte offset after each event of a stream, including the last one. */
export function eventEnds(bytes: Uint8Array): number[] {
  const text = Buffer.from(bytes).toString('latin1')
  const ends: number[] = []
  for (const match of text.matchAll(/\r?\n\r?\n/g)) ends.push(match.index + match[0].length)
  if (ends.at(-1) !== bytes.length) ends.push(bytes.length)
  return ends
}

/** Text of a stream's terminal event, by format; in Gemini, the chunk with the finish reason. */
const terminals: Readonly<Record<Format, RegExp>> = {
  chat: /^\[DONE\]/,
  messages: /"type": ?"message_stop"/,
  gemini: /"(finishReason|blockReason)"/,
  responses: /"type": ?"response\.(completed|incomplete)"/,
}
/** Returns the offset of the terminal event: a stream cut before it is incomplete. */
export function terminalAt(bytes: Uint8Array, format: Format): number {
  const text = Buffer.from(bytes).toString('latin1')
  let at = 0
  for (const end of eventEnds(bytes)) {
    if (eventData(text.slice(at, end)).some((data) => terminals[format].test(data))) return at
    at = end
  }
  return -1
}

/** Returns how many events claim a successful end. */
export const successClaims = (format: ClientFormat, stream: string): number =>
  readStream(format, stream).successes.length

/**
 * Returns the error that ends a broken response. Throws unless it is the only error, comes last, and no success was
 * claimed.
 */
export function onlyError(format: ClientFormat, answer: { status: number; text: string; name?: string }): DialectError {
  const { readError, followsError } = clientFormatRows[format]
  if (answer.status !== 200) {
    expect(answer.status).toBeGreaterThanOrEqual(400)
    return presentError(readError(objectOf(parseJson(answer.text)), { status: answer.status, name: answer.name ?? '' }))
  }
  const reading = readStream(format, answer.text)
  expect(reading.successes).toEqual([])
  expect(reading.errors).toHaveLength(1)
  const error = presentError(errorOf(format, reading))
  const behind = reading.events.slice((reading.errors[0] ?? 0) + 1).map(({ data }) => objectOf(parseJson(data)))
  expect(behind.map(({ type }) => type)).toEqual(followsError === undefined ? [] : [followsError])
  for (const { response } of behind) {
    const failed = { status: 'failed', error: { code: expect.any(String), message: error.message } }
    expect(response).toMatchObject(failed)
  }
  return error
}

function presentError(error: DialectError | undefined): DialectError {
  if (error === undefined) throw new Error('the error is not in the dialect')
  return error
}

/** Creates a repeatable sequence of numbers in [0, below). */
export function createPicker(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 0x1_0000_0000) * below)
  }
}
