type Headers = Readonly<Record<string, string>>

const telling = /^(?:modelgate-|x-request-id$|request-id$|x-ratelimit-|anthropic-ratelimit-|retry-after)/i

/** Separates the gateway's headers about the call and its limits from the rest. */
export function groupHeaders(headers: Headers): { readonly telling: Headers; readonly others: Headers } {
  const entries = Object.entries(headers)
  return {
    telling: Object.fromEntries(entries.filter(([name]) => telling.test(name))),
    others: Object.fromEntries(entries.filter(([name]) => !telling.test(name))),
  }
}
