import {
  anthropic,
  createGateway,
  type Gateway,
  type GatewayConfig,
  gemini,
  type HealthState,
  memoryResponseStore,
  openai,
  type ReferencesConfig,
  type Upstream,
} from '@modelgate/core'
import { referenceKinds } from '@modelgate/core/test-support'
import { type ClientFormat, clientFormatRows, type GenerationOptions, pathOf, queryOf } from './client-formats.ts'
import type { Format } from './recorded-traffic.ts'

export const upstreamKey = 'upstream-key-5d1c07a1'

/** Creates an upstream of one format with the official provider's factory. */
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

/** Disables health state between calls: after a 429 the key's cooldown would delay the next call. */
export const noSharedHealth: HealthState = { read: () => undefined, write() {} }

/** Recorded requests refer to objects that were stored when they were recorded. */
const anyReference: ReferencesConfig = Object.fromEntries(referenceKinds.map((kind) => [kind, 'pass']))

/** Creates a gateway with one upstream for every model name. */
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
    // Retries have their own tests; these tests observe a single exchange.
    retry: false,
    breaker: false,
    health: noSharedHealth,
    ...config,
  })
}

/** Returns the gateway as the `fetch` of an SDK in the same process. */
export const fetchOf = (gateway: Gateway): typeof fetch => gateway.fetch

/** Creates a generation request with the headers that the format requires. */
export const requestTo = (
  format: ClientFormat,
  body: string,
  headers: Record<string, string> = {},
  options: GenerationOptions = {},
): Request =>
  new Request(`http://gateway.test${pathOf(format, options)}${queryOf(format, options)}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...clientFormatRows[format].headers,
      ...headers,
    },
    body,
  })
