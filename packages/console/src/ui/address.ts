/** Where the gateway stands, without a slash at the end: found from a page's own address, since no page knows its mount path. */
export const gatewayAt = (page: string, toRoot: string): string => new URL(toRoot, page).href.replace(/\/+$/, '')

/** The base URLs that the families of clients want: some add the version themselves. */
export const baseUrls = (gateway: string) => ({ openai: `${gateway}/v1`, anthropic: gateway, gemini: gateway })
