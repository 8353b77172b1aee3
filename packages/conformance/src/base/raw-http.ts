import { request } from 'node:http'
import type { ClientTarget } from './sdk-clients.ts'

export interface RawCall {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Several pieces are sent chunked; one piece is sent with a content-length. */
  readonly body?: string | Uint8Array | readonly Uint8Array[]
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const joined = (body: RawCall['body']): Uint8Array => Buffer.concat(pieces(body))
const pieces = (body: RawCall['body']): Uint8Array[] =>
  body === undefined
    ? []
    : typeof body === 'string'
      ? [Buffer.from(body)]
      : body instanceof Uint8Array
        ? [body]
        : [...body]

/** Sends one HTTP request exactly as given, without the headers that an SDK or `fetch` would add. */
export async function rawCall(place: ClientTarget, call: RawCall): Promise<RawAnswer> {
  const { method = 'POST', path, headers = {}, body } = call
  if (place.fetch !== undefined) {
    const bodied = method !== 'GET' && method !== 'HEAD' && body !== undefined
    const response = await place.fetch(`${place.origin}${path}`, {
      method,
      headers,
      ...(bodied ? { body: joined(body) as BodyInit } : {}),
    })
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() }
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(`${place.origin}${path}`, { method, headers, agent: false }, (incoming) => {
      const parts: Buffer[] = []
      incoming.on('data', (part: Buffer) => parts.push(part))
      incoming.on('error', reject)
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(incoming.headers).map(([name, value]) => [
              name,
              Array.isArray(value) ? value.join(', ') : (value ?? ''),
            ]),
          ),
          text: Buffer.concat(parts).toString('utf8'),
        }),
      )
    })
    // A rejected upload may end in a broken pipe after the response. Without a response, the promise rejects.
    outgoing.on('error', reject)
    const parts = pieces(body)
    if (parts.length === 1) outgoing.setHeader('content-length', (parts[0] as Uint8Array).length)
    for (const part of parts) outgoing.write(part)
    outgoing.end()
  })
}
