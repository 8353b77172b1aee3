import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AzureOptions, azure, type Upstream, type VertexOptions, vertex } from '@modelgate/core'
import type { Json } from '../base/json.ts'

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url)).replace(/\/$/, '')
const index = join(folder, 'fixtures', 'INDEX.tsv')

/** A recorded call of a cloud that hosts models, for any operation. */
export interface CloudExchange {
  readonly path: string
  /** Format name in the index: `openai-chat`, `gemini`, `embeddings` … */
  readonly format: string
  readonly vendor: string
  readonly stream: boolean
  readonly status: number
  readonly features: ReadonlySet<string>
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly request: Json
  readonly answer: string
}

/** Returns every recorded call of Azure and Vertex AI; empty without recorded traffic. */
export function cloudExchanges(): CloudExchange[] {
  if (!existsSync(index)) return []
  const [head = '', ...lines] = readFileSync(index, 'utf8').trim().split('\n')
  const names = head.split('\t')
  return lines.flatMap((line) => {
    const cells = line.split('\t')
    const cell = (name: string): string => cells[names.indexOf(name)] ?? ''
    // WebSockets are recorded in another form.
    if (!cell('path').endsWith('.json')) return []
    const { request, response } = JSON.parse(readFileSync(join(folder, 'fixtures', cell('path')), 'utf8')) as {
      request?: { method: string; url?: string; body: Json }
      response: { headers?: Record<string, string>; body?: Json }
    }
    if (request === undefined || !/azure\.com\/|aiplatform\.googleapis\.com\//.test(request.url ?? '')) return []
    return [
      {
        path: cell('path'),
        format: cell('format'),
        vendor: cell('vendor'),
        stream: cell('mode') === 'stream',
        status: Number(cell('status')),
        features: new Set(cell('features').split(',')),
        method: request.method,
        url: new URL(asSent(request.url ?? '')),
        headers: response.headers ?? {},
        request: request.body,
        answer: typeof response.body === 'string' ? response.body : '',
      },
    ]
  })
}

/** Restores a URL from the recorder's placeholders, without one library's own additions. */
const asSent = (url: string): string =>
  url
    .replaceAll(/<(\w+)>/g, 'redacted-$1')
    // One library joins base address and path with a slash too many.
    .replace('.com//', '.com/')
    // And one asks for enumerations as numbers, which no other does.
    .replace('?%24alt=json%3Benum-encoding%3Dint', '')

/** Destination of a recorded call, as a user would configure it. */
export interface CloudCall {
  readonly upstream: Upstream
  /** The deployment, or the model in the path; undefined if the body contains it. */
  readonly model: string | undefined
  /** Remaining path: `chat/completions`, `generateContent`. */
  readonly what: string
}

/**
 * Returns undefined for URLs that neither cloud has: a library's own tests invented them.
 *
 * @param formats formats to use with Azure instead of its default
 */
export function callOf({ url }: CloudExchange, formats?: AzureOptions['formats']): CloudCall | undefined {
  return url.host.endsWith('azure.com') ? azureCall(url, formats) : vertexCall(url)
}

function azureCall(
  { host, pathname, origin, searchParams }: URL,
  formats: AzureOptions['formats'],
): CloudCall | undefined {
  const apiVersion = searchParams.get('api-version') ?? undefined
  const place: AzureOptions = host.endsWith('.openai.azure.com')
    ? { resource: host.slice(0, -'.openai.azure.com'.length), apiKey: 'key' }
    : { baseURL: origin, apiKey: 'key' }
  const made = (options: AzureOptions): Upstream =>
    azure({ ...place, ...options, ...(formats === undefined ? {} : { formats }) })
  const deployed = /^\/openai\/deployments\/([^/]+)\/(.+)$/.exec(pathname)
  if (deployed !== null && apiVersion !== undefined)
    return { upstream: made({ apiVersion }), model: deployed[1], what: deployed[2] ?? '' }
  const v1 = /^\/openai\/v1\/(.+)$/.exec(pathname)?.[1]
  if (v1 !== undefined) return { upstream: made({}), model: undefined, what: v1 }
  const inference = /^\/models\/(.+)$/.exec(pathname)?.[1]
  if (inference !== undefined && apiVersion !== undefined)
    return { upstream: made({ api: 'inference', apiVersion }), model: undefined, what: inference }
  return undefined
}

function vertexCall({ pathname, origin }: URL): CloudCall | undefined {
  const found = /^\/(v1|v1beta1)\/projects\/([^/]+)\/locations\/([^/]+)\/publishers\/google\/models\/(.+):(\w+)$/.exec(
    pathname,
  )
  if (found === null) return undefined
  const [, apiVersion, project = '', location = '', model, what = ''] = found
  const options: VertexOptions = {
    project,
    location,
    apiVersion: apiVersion === 'v1' ? 'v1' : 'v1beta1',
    token: () => 'token',
    // A recorder that hides the location in the path leaves the host unchanged.
    ...(/redacted/i.test(location) ? { baseURL: origin } : {}),
  }
  return { upstream: vertex(options), model, what }
}
