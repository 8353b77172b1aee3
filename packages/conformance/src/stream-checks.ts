import type { Gateway, Inbound, Transport } from '@modelgate/core'
import { expect } from 'vitest'
import type { WireFormat } from './fixtures.ts'
import { pathOf } from './gateways.ts'
import { isObject, objectOf, parseJson, textOf } from './json.ts'
import { eventData } from './reading.ts'
import { type Cuts, cut } from './upstream-fetch.ts'

const headers: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'anthropic-version': '2023-06-01',
}

/** An upstream that answers with these bytes, cut like this. Without web streams in between: splits come by the million. */
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

/** What a client of `format` is answered, as status and text. */
export async function answerOf(
  gateway: Gateway,
  format: WireFormat,
  body: string,
  transport: Transport,
): Promise<{ status: number; text: string }> {
  const inbound: Inbound = {
    method: 'POST',
    path: pathOf(format),
    query: '',
    header: (name) => headers[name],
    read: async () => new TextEncoder().encode(body),
    signal: new AbortController().signal,
  }
  const reply = await gateway.handle(inbound, transport)
  if (typeof reply.body === 'string') return { status: reply.status, text: reply.body }
  const parts: Uint8Array[] = []
  if (reply.body instanceof Uint8Array) parts.push(reply.body)
  else if (reply.body !== null) for await (const part of reply.body) parts.push(part)
  return { status: reply.status, text: Buffer.concat(parts).toString('utf8') }
}

/** The byte positions behind each event of a stream, the last one included. */
export function eventEnds(bytes: Uint8Array): number[] {
  const text = Buffer.from(bytes).toString('latin1')
  const ends: number[] = []
  for (const match of text.matchAll(/\r?\n\r?\n/g)) ends.push(match.index + match[0].length)
  if (ends.at(-1) !== bytes.length) ends.push(bytes.length)
  return ends
}

/** Where a stream's terminal event begins: everything cut before it is a proper prefix. */
export function terminalAt(bytes: Uint8Array, format: WireFormat): number {
  const text = Buffer.from(bytes).toString('latin1')
  const at = format === 'chat' ? text.lastIndexOf('data: [DONE]') : text.lastIndexOf('event: message_stop')
  return at < 0 ? text.lastIndexOf(format === 'chat' ? '[DONE]' : '"message_stop"') : at
}

const markers: Readonly<Record<WireFormat, (data: string) => boolean>> = {
  chat: (data) => data.trim() === '[DONE]',
  messages: (data) => objectOf(parseJson(data)).type === 'message_stop',
}
const isError: Readonly<Record<WireFormat, (data: string) => boolean>> = {
  chat: (data) => isObject(objectOf(parseJson(data)).error),
  messages: (data) => objectOf(parseJson(data)).type === 'error',
}

/** The error a broken answer ends in; throws unless it is the only one, the last word, and no success was claimed. */
export function onlyError(
  format: WireFormat,
  answer: { status: number; text: string },
): { message: string; type: string } {
  if (answer.status !== 200) {
    expect(answer.status).toBeGreaterThanOrEqual(400)
    const error = objectOf(objectOf(parseJson(answer.text)).error)
    expect(error).toMatchObject({ message: expect.any(String), type: expect.any(String) })
    return { message: textOf(error.message), type: textOf(error.type) }
  }
  const data = eventData(answer.text)
  expect(data.filter(markers[format])).toEqual([])
  const errors = data.filter(isError[format])
  expect(errors).toHaveLength(1)
  expect(data.at(-1)).toBe(errors[0])
  if (format === 'messages') expect(answer.text).toContain('event: error\ndata: ')
  const error = objectOf(objectOf(parseJson(errors[0] ?? '')).error)
  return { message: textOf(error.message), type: textOf(error.type) }
}

/** A repeatable sequence of numbers in [0, below). */
export function createPicker(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 0x1_0000_0000) * below)
  }
}
