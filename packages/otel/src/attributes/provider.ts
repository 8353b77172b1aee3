import type { Attributes } from '@opentelemetry/api'
import type { FinishEvent, RequestEvent } from '../base/events.ts'

/** Additional attributes that the conventions define for one provider only. */
interface ProviderAttributes {
  ofRequest(body: RequestEvent['body']): Attributes
  /**
   * Returns the attributes of the provider's response.
   *
   * @param format the format used with the provider
   */
  ofResponse(format: FinishEvent['upstreamFormat']): Attributes
}

const apiTypes: Readonly<Record<string, string>> = { chat: 'chat_completions', responses: 'responses' }

const providers: Readonly<Record<string, ProviderAttributes>> = {
  openai: {
    ofRequest({ service_tier: tier }) {
      // Only a plain identifier is recorded: a client can put any text here.
      const isTier = typeof tier === 'string' && tier !== 'auto' && /^[a-z_]{1,32}$/.test(tier)
      return isTier ? { 'openai.request.service_tier': tier } : {}
    },
    ofResponse(format) {
      const type = format === undefined ? undefined : apiTypes[format]
      return type === undefined ? {} : { 'openai.api.type': type }
    },
  },
}

export const providerRequestAttributes = (provider: string, body: RequestEvent['body']): Attributes =>
  Object.hasOwn(providers, provider) ? (providers[provider]?.ofRequest(body) ?? {}) : {}

export const providerResponseAttributes = (provider: string, format: FinishEvent['upstreamFormat']): Attributes =>
  Object.hasOwn(providers, provider) ? (providers[provider]?.ofResponse(format) ?? {}) : {}
