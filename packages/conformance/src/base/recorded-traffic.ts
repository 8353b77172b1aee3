import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isObject, type Json, type JsonObject, textOf } from './json.ts'

/** The formats of generation that clients speak. Declared here, because the published types must not need core. */
export type Format = 'chat' | 'messages' | 'gemini' | 'responses'
export const formats: readonly Format[] = ['chat', 'messages', 'gemini', 'responses']

/** The two formats of the suites over servers. */
export type WireFormat = 'chat' | 'messages'

/** One recorded HTTP exchange with a provider. */
export interface Exchange {
  readonly path: string
  readonly format: Format
  readonly vendor: string
  readonly stream: boolean
  readonly features: ReadonlySet<string>
  readonly method: string
  /** Requested model, wherever the format has it; undefined if the recording kept no request. */
  readonly model: string | undefined
  /** The request's body; a string or null where the recording kept none. */
  readonly request: Json
  /** The provider's answer, byte for byte. */
  readonly answer: string
}

const formatsOfIndex: Readonly<Record<string, Format>> = {
  'openai-chat': 'chat',
  'anthropic-messages': 'messages',
  gemini: 'gemini',
  'openai-responses': 'responses',
}

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url)).replace(/\/$/, '')

/** Recorded traffic is beside the checkout, or at MODELGATE_SHARED. */
export const haveRecordings = existsSync(join(folder, 'fixtures', 'INDEX.tsv'))
/** The samples of this suite stand for all recordings; with MODELGATE_FULL=1 it goes through every one. */
export const fullRun = process.env.MODELGATE_FULL === '1'
/** How long a test over all recordings may take, in milliseconds. */
export const patience = fullRun ? 1_800_000 : 300_000
export const whyNoRecordings = 'no recorded traffic beside the checkout (MODELGATE_SHARED): these checks are skipped'

interface IndexLine {
  readonly path: string
  readonly format: string
  readonly vendor: string
  readonly mode: string
  readonly status: string
  readonly features: string
}

const known = new Map<string, Exchange>()

function readExchange({ path, format, vendor, mode, features }: IndexLine): Exchange {
  const cached = known.get(path)
  if (cached !== undefined) return cached
  const { request, response } = JSON.parse(readFileSync(join(folder, 'fixtures', path), 'utf8')) as {
    request: { method: string; url?: string; body: Json }
    response: { body?: Json }
  }
  const model = isObject(request.body) ? textOf(request.body.model) : ''
  const named = /\/models\/(.+):\w+(\?|$)/.exec(request.url ?? '')?.[1]
  const exchange: Exchange = {
    path,
    format: formatsOfIndex[format] as Format,
    vendor,
    stream: mode === 'stream',
    features: new Set(features.split(',')),
    method: request.method,
    model: named ?? (model === '' ? undefined : model),
    request: request.body,
    answer: typeof response.body === 'string' ? response.body : '',
  }
  known.set(path, exchange)
  return exchange
}

function linesOf(index: string): Record<string, string>[] {
  const [head = '', ...lines] = readFileSync(join(folder, 'fixtures', index), 'utf8')
    .trim()
    .split('\n')
  const names = head.split('\t')
  return lines.map((line) => {
    const cells = line.split('\t')
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']))
  })
}

/** Every successful recorded exchange of the four formats that stands in the index. */
export const recordedExchanges = (index: 'INDEX.tsv' | 'CORE.tsv' = 'INDEX.tsv'): Exchange[] =>
  (linesOf(index) as unknown as IndexLine[])
    .filter(({ format, status }) => formatsOfIndex[format] !== undefined && status === '200')
    .map(readExchange)

/** One conversation as one client library held it in several formats. */
export interface Scenario {
  readonly name: string
  readonly exchanges: readonly Exchange[]
}

export function parallelScenarios(): Scenario[] {
  const all = new Map(linesOf('INDEX.tsv').map((line) => [line.path, line as unknown as IndexLine]))
  return linesOf('PARALLEL.tsv').map(({ scenario = '', files = '' }) => ({
    name: scenario,
    exchanges: files.split(' | ').flatMap((path) => {
      const line = all.get(path)
      return line === undefined || formatsOfIndex[line.format] === undefined ? [] : [readExchange(line)]
    }),
  }))
}

const formatsOfPath: readonly (readonly [RegExp, Format])[] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/messages$/, 'messages'],
  [/:(streamG|g)enerateContent$/, 'gemini'],
  [/\/responses$/, 'responses'],
]

/** The generation calls that SDKs and agents were seen to make, without answers. */
export function clientRequests(): Exchange[] {
  const place = join(folder, 'client-requests')
  if (!existsSync(place)) return []
  return readdirSync(place)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const { requests = [] } = JSON.parse(readFileSync(join(place, name), 'utf8')) as { requests?: JsonObject[] }
      return requests.flatMap(({ path: full, url, body, method }, at): Exchange[] => {
        const path = (textOf(full) || textOf(url)).replace(/\?.*/, '')
        const format = formatsOfPath.find(([end]) => end.test(path))?.[1]
        if (format === undefined || !isObject(body)) return []
        const named = /\/models\/(.+):\w+$/.exec(path)?.[1]
        return [
          {
            path: `client-requests/${name} ${at}`,
            format,
            vendor: '',
            stream: named === undefined ? body.stream === true : path.includes(':stream'),
            features: new Set(),
            method: textOf(method) || 'POST',
            model: named ?? textOf(body.model),
            request: body,
            answer: '',
          },
        ]
      })
    })
}

/** A small request of a format, for clients that must get at an answer recorded for another request. */
export function simpleRequest(format: Format, stream: boolean): JsonObject {
  switch (format) {
    case 'chat':
      return {
        model: 'recorded',
        messages: [{ role: 'user', content: 'Hello' }],
        stream,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      }
    case 'messages':
      return { model: 'recorded', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello' }], stream }
    case 'gemini':
      return { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
    case 'responses':
      return { model: 'recorded', input: 'Hello', stream }
  }
}
