import type { Gateway, Inbound, Transport } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { expect } from 'vitest'
import { pathOf, queryOf } from './gateways.ts'
import { isObject, type JsonObject, listOf, objectOf, parseJson, textOf } from './json.ts'
import type { ClientFormat, Format } from './recorded-traffic.ts'
import { dataOf, eventData } from './response-content.ts'
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

/** Returns the response to a streaming client of `format`, as status and text. */
export async function fetchStream(
  gateway: Gateway,
  format: ClientFormat,
  body: string,
  transport: Transport,
): Promise<{ status: number; text: string }> {
  const inbound: Inbound = {
    method: 'POST',
    path: pathOf(format, { stream: true }),
    query: queryOf(format, { stream: true }).slice(1),
    header: (name) => headers[name],
    read: async () => new TextEncoder().encode(body),
    signal: new AbortController().signal,
  }
  const reply = await adapterFunctions(gateway).handle(inbound, transport)
  if (typeof reply.body === 'string') return { status: reply.status, text: reply.body }
  const parts: Uint8Array[] = []
  if (reply.body instanceof Uint8Array) parts.push(reply.body)
  else if (reply.body !== null) for await (const part of reply.body) parts.push(part)
  return { status: reply.status, text: Buffer.concat(parts).toString('utf8') }
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

const candidatesOf = (data: string) => listOf(objectOf(parseJson(data)).candidates).map(objectOf)
const typeOf = (data: string): string => textOf(objectOf(parseJson(data)).type)

/** Recognises the event that a client takes as the successful end. */
const claims: Readonly<Record<ClientFormat, (data: string) => boolean>> = {
  chat: (data) => data.trim() === '[DONE]',
  messages: (data) => typeOf(data) === 'message_stop',
  gemini: (data) =>
    candidatesOf(data).some(({ finishReason }) => finishReason !== undefined) || data.includes('"blockReason"'),
  responses: (data) => typeOf(data) === 'response.completed' || typeOf(data) === 'response.incomplete',
  ollama: (data) => objectOf(parseJson(data)).done === true,
}
const isError: Readonly<Record<ClientFormat, (data: string) => boolean>> = {
  chat: (data) => isObject(objectOf(parseJson(data)).error),
  messages: (data) => typeOf(data) === 'error',
  gemini: (data) => isObject(objectOf(parseJson(data)).error),
  responses: (data) => typeOf(data) === 'error',
  ollama: (data) => typeof objectOf(parseJson(data)).error === 'string',
}

/** Returns how many events claim a successful end. */
export const successClaims = (format: ClientFormat, stream: string): number =>
  dataOf(format, stream).filter(claims[format]).length

/**
 * Returns the error that ends a broken response. Throws unless it is the only error, comes last, and no success was
 * claimed.
 */
export function onlyError(
  format: ClientFormat,
  answer: { status: number; text: string },
): { message: string; type: string } {
  if (answer.status !== 200) {
    expect(answer.status).toBeGreaterThanOrEqual(400)
    return errorIn(format, objectOf(parseJson(answer.text)))
  }
  const data = dataOf(format, answer.text)
  expect(data.filter(claims[format])).toEqual([])
  const errors = data.filter(isError[format])
  expect(errors).toHaveLength(1)
  const error = objectOf(parseJson(errors[0] ?? ''))
  if (format === 'messages') expect(answer.text).toContain('event: error\ndata: ')
  if (format !== 'responses') {
    expect(data.at(-1)).toBe(errors[0])
    return errorIn(format, error)
  }
  // Two events: clients differ in which one they read.
  expect([data.at(-2), typeOf(data.at(-1) ?? '')]).toEqual([errors[0], 'response.failed'])
  // OpenAI documents a flat event and sends a nested one.
  const { message, code } = { ...objectOf(error.error), ...error }
  const failed = objectOf(objectOf(parseJson(data.at(-1) ?? '')).response)
  expect(failed).toMatchObject({ status: 'failed', error: { code: expect.any(String), message } })
  return { message: textOf(message), type: textOf(code) }
}

function errorIn(format: ClientFormat, body: JsonObject): { message: string; type: string } {
  // Ollama's errors are texts.
  if (format === 'ollama') {
    expect(body).toEqual({ error: expect.stringMatching(/./) })
    return { message: textOf(body.error), type: '' }
  }
  const error = objectOf(body.error)
  const word = format === 'gemini' ? 'status' : 'type'
  expect(error).toMatchObject({ message: expect.any(String), [word]: expect.any(String) })
  return { message: textOf(error.message), type: textOf(error[word]) }
}

/** Creates a repeatable sequence of numbers in [0, below). */
export function createPicker(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 0x1_0000_0000) * below)
  }
}
