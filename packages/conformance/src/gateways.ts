import { anthropic, createGateway, type Gateway, type GatewayConfig, openai, type Upstream } from '@modelgate/core'
import type { WireFormat } from './fixtures.ts'

export const upstreamKey = 'upstream-key-5d1c07a1'

/** An upstream that speaks one format, with the official provider's makers. */
export const upstreamOf = (format: WireFormat, baseURL = 'http://upstream.test'): Upstream =>
  format === 'chat'
    ? openai({ apiKey: upstreamKey, baseURL: `${baseURL}/v1` })
    : anthropic({ apiKey: upstreamKey, baseURL })

/** A gateway with one upstream for every model name. */
export const gatewayTo = (
  format: WireFormat,
  options: Partial<GatewayConfig<'up'>> & { baseURL?: string; upstream?: Upstream } = {},
): Gateway => {
  const { baseURL, upstream = upstreamOf(format, baseURL), ...config } = options
  return createGateway({
    auth: 'none',
    upstreams: { up: upstream },
    models: { '*': 'up' },
    logger: false,
    ...config,
  })
}

/** The gateway as the `fetch` of an SDK in the same process. */
export const fetchOf = (gateway: Gateway): typeof fetch => gateway.fetch

/** The dialect's generation path. */
export const pathOf = (format: WireFormat): string => (format === 'chat' ? '/v1/chat/completions' : '/v1/messages')

/** A generation request as a bare Request, with what its dialect insists on. */
export const requestTo = (format: WireFormat, body: string, headers: Record<string, string> = {}): Request =>
  new Request(`http://gateway.test${pathOf(format)}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      ...headers,
    },
    body,
  })
