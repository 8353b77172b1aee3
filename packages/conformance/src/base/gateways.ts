import {
  anthropic,
  createGateway,
  type Gateway,
  type GatewayConfig,
  gemini,
  type HealthState,
  memoryResponseStore,
  openai,
  type Upstream,
} from '@modelgate/core'
import type { Format } from './recorded-traffic.ts'

export const upstreamKey = 'upstream-key-5d1c07a1'

/** An upstream that speaks one format, with the official provider's makers. */
export function upstreamOf(format: Format, baseURL = 'http://upstream.test', apiKey = upstreamKey): Upstream {
  switch (format) {
    case 'chat':
    case 'responses':
      return openai({ apiKey, baseURL: `${baseURL}/v1`, formats: [format] })
    case 'messages':
      return anthropic({ apiKey, baseURL })
    case 'gemini':
      return gemini({ apiKey, baseURL })
  }
}

/** No call is to remember what befell another: a key that a 429 sent to rest would make the next one wait. */
export const forgetful: HealthState = { read: () => undefined, write() {} }

/** Recorded requests refer to what somebody else stored long ago. */
const anyReference = {
  responses: 'pass',
  conversations: 'pass',
  prompts: 'pass',
  files: 'pass',
  containers: 'pass',
  vectorStores: 'pass',
  caches: 'pass',
} as const

/** A gateway with one upstream for every model name. */
export const gatewayTo = (
  format: Format,
  options: Partial<GatewayConfig<'up'>> & { baseURL?: string; upstream?: Upstream } = {},
): Gateway => {
  const { baseURL, upstream = upstreamOf(format, baseURL), ...config } = options
  return createGateway({
    auth: 'none',
    responses: { store: memoryResponseStore() },
    references: anyReference,
    upstreams: { up: upstream },
    models: { '*': 'up' },
    logger: false,
    // One exchange is looked at: what is tried after a failure has tests of its own.
    retry: false,
    breaker: false,
    health: forgetful,
    ...config,
  })
}

/** The gateway as the `fetch` of an SDK in the same process. */
export const fetchOf = (gateway: Gateway): typeof fetch => gateway.fetch

/** What stands in the URL where a format says it there. */
export interface Asked {
  /** Default `recorded`. */
  readonly model?: string
  readonly stream?: boolean
}

const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const

/** The dialect's generation path, without a query. */
export const pathOf = (format: Format, { model = 'recorded', stream = false }: Asked = {}): string =>
  format === 'gemini'
    ? `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent' : 'generateContent'}`
    : paths[format]

/** The query that belongs to it: without this one, a stream of generateContent is a JSON array. */
export const queryOf = (format: Format, { stream = false }: Asked = {}): string =>
  format === 'gemini' && stream ? '?alt=sse' : ''

/** A generation request as a bare Request, with what its dialect insists on. */
export const requestTo = (
  format: Format,
  body: string,
  headers: Record<string, string> = {},
  asked: Asked = {},
): Request =>
  new Request(`http://gateway.test${pathOf(format, asked)}${queryOf(format, asked)}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      ...headers,
    },
    body,
  })
