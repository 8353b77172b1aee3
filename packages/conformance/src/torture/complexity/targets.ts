import {
  bedrock,
  cohere,
  createGateway,
  type Gateway,
  jina,
  mistral,
  perplexity,
  type Upstream,
  voyage,
} from '@modelgate/core'
import { noSharedHealth, upstreamOf } from '../../base/gateways.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'

/** Formats of upstreams. */
export type UpstreamFormat = Format | 'converse'

/** An upstream that receives requests, by the name of its model (`<name>-model`). */
export interface Attacked {
  readonly speaks: UpstreamFormat
  readonly upstream: Upstream
}

const options = { apiKey: 'key-of-the-upstream-41' }

/** Every format, and vendors of chat that differ in lists and ids. */
export const generating: Readonly<Record<string, Attacked>> = {
  ...Object.fromEntries(formats.map((format) => [format, { speaks: format, upstream: upstreamOf(format) }])),
  converse: { speaks: 'converse', upstream: bedrock({ ...options, region: 'us-east-1', formats: ['converse'] }) },
  // Replaces call ids and rewrites unsupported content.
  mistral: { speaks: 'chat', upstream: mistral(options) },
  // Merges turns of one role.
  perplexity: { speaks: 'chat', upstream: perplexity(options) },
}

const operating: Readonly<Record<string, Upstream>> = {
  cohere: cohere(options),
  jina: jina(options),
  voyage: voyage(options),
}

/** Creates a gateway for all of them. @param withMedia allows fetching URLs in requests */
export function attackedGateway(fetch: typeof globalThis.fetch, withMedia: boolean): Gateway {
  const upstreams = {
    ...Object.fromEntries(Object.entries(generating).map(([name, { upstream }]) => [name, upstream])),
    ...operating,
  }
  return createGateway({
    auth: 'none',
    upstreams,
    models: Object.fromEntries(Object.keys(upstreams).map((name) => [`${name}-model`, name])),
    logger: false,
    retry: false,
    breaker: false,
    health: noSharedHealth,
    explain: true,
    fetch,
    // Stored lists of responses must not grow from one measurement to the next.
    responses: { ttlMs: 1 },
    ...(withMedia
      ? {
          media: {
            allows: () => true,
            fetch: async () => ({ bytes: new Uint8Array(3), mediaType: 'image/png' }),
            maxCount: 1_000_000,
          },
        }
      : {}),
  })
}
