import type { Ids } from '../base/random.ts'

export interface ResponseHead {
  readonly headers: Record<string, string>
  readonly requestId: string
}

/** Returns OpenAI's headers. */
export function openaiHeaders(ids: Ids, model: string): ResponseHead {
  const requestId = ids.requestHex()
  return {
    requestId,
    headers: {
      'x-request-id': requestId,
      'openai-organization': 'org-fake',
      'openai-processing-ms': String(100 + ids.integer(400)),
      'openai-version': '2020-10-01',
      ...(model === '' ? {} : { 'openai-model': model }),
      'x-ratelimit-limit-requests': '10000',
      'x-ratelimit-limit-tokens': '30000000',
      'x-ratelimit-remaining-requests': '9999',
      'x-ratelimit-remaining-tokens': '29999976',
      'x-ratelimit-reset-requests': '6ms',
      'x-ratelimit-reset-tokens': '0s',
    },
  }
}

/** Returns Anthropic's headers. */
export function anthropicHeaders(ids: Ids, now: number): ResponseHead {
  const requestId = ids.request58()
  const reset = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    requestId,
    headers: {
      'request-id': requestId,
      'anthropic-organization-id': '00000000-0000-4000-8000-000000000000',
      'anthropic-ratelimit-requests-limit': '10000',
      'anthropic-ratelimit-requests-remaining': '9999',
      'anthropic-ratelimit-requests-reset': reset,
      'anthropic-ratelimit-tokens-limit': '12000000',
      'anthropic-ratelimit-tokens-remaining': '12000000',
      'anthropic-ratelimit-tokens-reset': reset,
    },
  }
}

/** Returns Google's headers, which contain no request id. */
export const googleHeaders = (ids: Ids): ResponseHead => ({
  requestId: '',
  headers: { 'server-timing': `gfet4t7; dur=${100 + ids.integer(900)}`, vary: 'Origin, X-Origin, Referer' },
})
