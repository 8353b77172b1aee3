/** Returns the gateway's address without a trailing slash, resolved from the page's own address: no page knows its mount path. */
export const gatewayAt = (page: string, toRoot: string): string => new URL(toRoot, page).href.replace(/\/+$/, '')

/** Base URLs by client family: some clients add the version themselves. */
export const baseUrls = (gateway: string) => ({ openai: `${gateway}/v1`, anthropic: gateway, gemini: gateway })
