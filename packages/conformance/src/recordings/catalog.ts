import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Upstream, UpstreamOptions } from '@modelgate/core'
import { createExample, providerCatalog } from '@modelgate/core/catalog'
import type { Json } from '../base/json.ts'

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url)).replace(/\/$/, '')
const fixtures = join(folder, 'fixtures')

/** Providers with separate suites for their recordings. */
const elsewhere: ReadonlySet<string> = new Set(['openai', 'anthropic', 'gemini'])

/** Additional hosts of providers, which users configure as `baseURL`. */
const otherHosts: Readonly<Record<string, string>> = { 'api.together.xyz': 'together', 'ollama.com': 'ollama' }

/** Factories of the upstream of a recorded call, by host. */
const upstreams = new Map(
  Object.entries(providerCatalog).flatMap(([name, entry]) => {
    // URLs of clouds depend on options.
    if (entry.example !== undefined || elsewhere.has(name)) return []
    const create = (options: UpstreamOptions): Upstream => entry.create(options as never)
    const others = Object.keys(otherHosts).filter((host) => otherHosts[host] === name)
    return [
      [new URL(createExample(entry).baseURL).host, { name, create: () => create({}) }] as const,
      ...others.map((host) => [host, { name, create: (baseURL: string) => create({ baseURL }) }] as const),
    ]
  }),
)

/** A recorded call of a catalog provider, for any operation. */
export interface CatalogExchange {
  readonly path: string
  readonly maker: string
  readonly upstream: Upstream
  /** Format name in the index: `openai-chat`, `embeddings` … */
  readonly format: string
  readonly stream: boolean
  readonly status: number
  readonly method: string
  readonly url: URL
  readonly request: Json
  readonly answer: string
}

/** Returns every recorded call of the catalog's providers; empty without recorded traffic. */
export function catalogExchanges(): CatalogExchange[] {
  if (!existsSync(join(fixtures, 'INDEX.tsv'))) return []
  const [head = '', ...lines] = readFileSync(join(fixtures, 'INDEX.tsv'), 'utf8').trim().split('\n')
  const names = head.split('\t')
  return lines.flatMap((line) => {
    const cells = line.split('\t')
    const cell = (name: string): string => cells[names.indexOf(name)] ?? ''
    // WebSockets are recorded in another form.
    if (!cell('path').endsWith('.json')) return []
    const { request, response } = JSON.parse(readFileSync(join(fixtures, cell('path')), 'utf8')) as {
      request?: { method: string; url?: string; body: Json }
      response: { body?: Json }
    }
    if (request?.url === undefined || !URL.canParse(request.url)) return []
    const url = new URL(request.url)
    const provider = upstreams.get(url.host)
    if (provider === undefined) return []
    return [
      {
        path: cell('path'),
        maker: provider.name,
        upstream: provider.create(url.origin),
        format: cell('format'),
        stream: cell('mode') === 'stream',
        status: Number(cell('status')),
        method: request.method,
        url,
        request: request.body,
        answer: typeof response.body === 'string' ? response.body : '',
      },
    ]
  })
}

/** A recorded or documented error of a provider. */
export interface CatalogError {
  readonly vendor: string
  readonly format: string
  readonly status: number
  readonly body: Json
}

export function catalogErrors(): CatalogError[] {
  const place = join(fixtures, 'errors-catalog.json')
  if (!existsSync(place)) return []
  const all = JSON.parse(readFileSync(place, 'utf8')) as (CatalogError & { origin: string; body?: Json })[]
  return all.filter(({ origin, body, vendor }) => origin === 'recorded' && body !== undefined && vendor !== undefined)
}

/** Returns the fields of a chat request in OpenAI's published document; undefined without the document. */
export function publishedChatFields(): string[] | undefined {
  const place = join(folder, 'specs', 'openai.openapi.json')
  if (!existsSync(place)) return undefined
  const { schemas } = (JSON.parse(readFileSync(place, 'utf8')) as { components: { schemas: Record<string, Schema> } })
    .components
  const fieldsOf = ({ $ref, allOf = [], properties = {} }: Schema): string[] => [
    ...Object.keys(properties),
    ...allOf.flatMap(fieldsOf),
    ...($ref === undefined ? [] : fieldsOf(schemas[$ref.split('/').at(-1) ?? ''] ?? {})),
  ]
  return [...new Set(fieldsOf(schemas.CreateChatCompletionRequest ?? {}))]
}

interface Schema {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, unknown>>
}
