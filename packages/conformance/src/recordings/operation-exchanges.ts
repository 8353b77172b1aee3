import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createGateway, type FinishEvent, type Gateway, type Upstream } from '@modelgate/core'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { type ServedBytes, serveBytes } from '../base/upstream-fetch.ts'

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url)).replace(/\/$/, '')
const index = join(folder, 'fixtures', 'INDEX.tsv')

/** A recorded call of an operation other than generation. */
export interface OperationExchange {
  readonly path: string
  readonly vendor: string
  readonly stream: boolean
  readonly status: number
  readonly url: string
  /** Undefined if the recording has none. */
  readonly request: JsonObject | undefined
  /** Response of the provider, byte for byte. */
  readonly answer: string
}

/** Reason for skipping without recordings. */
export const whyNoOperations = 'no recorded traffic next to the checkout (MODELGATE_SHARED): these checks are skipped'

/**
 * Returns recorded calls by their format in the index: `embeddings`, `rerank`, `completions` … Empty without recorded
 * traffic.
 */
export function recordedOperations(format: string): OperationExchange[] {
  if (!existsSync(index)) return []
  const [head = '', ...lines] = readFileSync(index, 'utf8').trim().split('\n')
  const names = head.split('\t')
  return lines.flatMap((line) => {
    const cells = line.split('\t')
    const cell = (name: string): string => cells[names.indexOf(name)] ?? ''
    if (cell('format') !== format) return []
    const { request, response } = JSON.parse(readFileSync(join(folder, 'fixtures', cell('path')), 'utf8')) as {
      request: { url: string; body: Json }
      response: { body: Json }
    }
    return [
      {
        path: cell('path'),
        vendor: cell('vendor'),
        stream: cell('mode') === 'stream',
        status: Number(cell('status')),
        url: request.url,
        request: isObject(request.body) ? request.body : undefined,
        answer: String(response.body),
      },
    ]
  })
}

export interface Replay extends ServedBytes {
  readonly gateway: Gateway
  readonly finished: FinishEvent[]
  post(path: string, body: JsonObject | string): Promise<Response>
}

/** Creates a gateway whose only upstream returns the recorded bytes for any model. */
export function replay({ answer, stream, status }: OperationExchange, upstream: Upstream): Replay {
  const served = serveBytes(answer, { stream: stream && status === 200, status })
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { only: upstream },
    models: { '*': 'only' },
    fetch: served.fetch,
    plugins: [{ name: 'test', onFinish: (event) => void finished.push(event) }],
    logger: false,
  })
  const post = (path: string, body: JsonObject | string): Promise<Response> =>
    gateway.fetch(`http://gateway.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { ...served, gateway, finished, post }
}

/** Returns a field of a response by its path; undefined if it is missing. */
export const at = (value: Json | undefined, ...path: (string | number)[]): Json | undefined =>
  path.reduce<Json | undefined>(
    (inner, key) => (Array.isArray(inner) ? inner[Number(key)] : isObject(inner) ? inner[key as string] : undefined),
    value,
  )
