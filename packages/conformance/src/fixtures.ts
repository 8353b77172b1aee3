import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Json, JsonObject } from './json.ts'

/** The two formats the recordings of this suite are in. */
export type WireFormat = 'chat' | 'messages'

/** One recorded HTTP exchange with a provider. */
export interface Exchange {
  readonly path: string
  readonly format: WireFormat
  readonly vendor: string
  readonly stream: boolean
  readonly features: ReadonlySet<string>
  readonly method: string
  /** The request's body; a string or null where the recording kept none. */
  readonly request: Json
  /** The provider's answer, byte for byte. */
  readonly answer: string
}

const formats: Readonly<Record<string, WireFormat>> = { 'openai-chat': 'chat', 'anthropic-messages': 'messages' }

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../shared', import.meta.url)).replace(/\/$/, '')

/** Recorded traffic lies beside the checkout, or where MODELGATE_SHARED says. */
export const haveRecordings = existsSync(join(folder, 'fixtures', 'INDEX.tsv'))
export const whyNoRecordings = 'no recorded traffic beside the checkout (MODELGATE_SHARED): these checks are skipped'

interface IndexLine {
  readonly path: string
  readonly format: string
  readonly vendor: string
  readonly mode: string
  readonly status: string
  readonly features: string
}

/** Every successful recorded exchange of the two formats that stands in the index. */
export function recordedExchanges(index: 'INDEX.tsv' | 'CORE.tsv' = 'INDEX.tsv'): Exchange[] {
  const [head = '', ...lines] = readFileSync(join(folder, 'fixtures', index), 'utf8')
    .trim()
    .split('\n')
  const names = head.split('\t')
  return lines
    .map((line) => {
      const cells = line.split('\t')
      return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])) as unknown as IndexLine
    })
    .filter(({ format, status }) => formats[format] !== undefined && status === '200')
    .map((line) => {
      const { request, response } = JSON.parse(readFileSync(join(folder, 'fixtures', line.path), 'utf8')) as {
        request: { method: string; body: Json }
        response: { body?: Json }
      }
      return {
        path: line.path,
        format: formats[line.format] as WireFormat,
        vendor: line.vendor,
        stream: line.mode === 'stream',
        features: new Set(line.features.split(',')),
        method: request.method,
        request: request.body,
        answer: typeof response.body === 'string' ? response.body : '',
      }
    })
}

/** A small request of a format, for clients that must get at an answer recorded for another request. */
export const simpleRequest = (format: WireFormat, stream: boolean): JsonObject =>
  format === 'chat'
    ? {
        model: 'recorded',
        messages: [{ role: 'user', content: 'Hello' }],
        stream,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      }
    : { model: 'recorded', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello' }], stream }
