import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isObject, type Json, type JsonObject, textOf } from './json.ts'

/** The generation formats of clients. Declared here, because the published types must not depend on core. */
export type Format = 'chat' | 'messages' | 'gemini' | 'responses'
export const formats: readonly Format[] = ['chat', 'messages', 'gemini', 'responses']

/** The two formats of tests over servers. */
export type WireFormat = 'chat' | 'messages'

/** One recorded HTTP exchange with a provider. */
export interface Exchange {
  readonly path: string
  readonly format: Format
  readonly vendor: string
  readonly stream: boolean
  readonly features: ReadonlySet<string>
  readonly method: string
  /** Requested model, from the path or the body; undefined if the recording has no request. */
  readonly model: string | undefined
  /** Request body; a string or null if the recording has no JSON. */
  readonly request: Json
  /** Response of the provider, byte for byte. */
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

/** True if recorded traffic exists next to the checkout or at MODELGATE_SHARED. */
export const haveRecordings = existsSync(join(folder, 'fixtures', 'INDEX.tsv'))
/** True with MODELGATE_FULL=1: runs all recordings instead of the samples. */
export const fullRun = process.env.MODELGATE_FULL === '1'
/** Timeout of a test over all recordings, in milliseconds. */
export const patience = fullRun ? 1_800_000 : 300_000
export const whyNoRecordings = 'no recorded traffic next to the checkout (MODELGATE_SHARED): these checks are skipped'

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

/** Returns all successful recorded exchanges of the four formats that the index lists. */
export const recordedExchanges = (index: 'INDEX.tsv' | 'CORE.tsv' = 'INDEX.tsv'): Exchange[] =>
  (linesOf(index) as unknown as IndexLine[])
    .filter(({ format, status }) => formatsOfIndex[format] !== undefined && status === '200')
    .map(readExchange)

/** One conversation that a client library recorded in several formats. */
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

/** Returns recorded generation requests of SDKs and agents, without responses. */
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
