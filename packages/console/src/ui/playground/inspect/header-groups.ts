type Headers = Readonly<Record<string, string>>

const telling = /^(?:modelgate-|x-request-id$|request-id$|x-ratelimit-|anthropic-ratelimit-|retry-after)/i

/** What the gateway tells of the call, its limits among it; the rest of the headers is plumbing. */
export function groupHeaders(headers: Headers): { readonly telling: Headers; readonly others: Headers } {
  const entries = Object.entries(headers)
  return {
    telling: Object.fromEntries(entries.filter(([name]) => telling.test(name))),
    others: Object.fromEntries(entries.filter(([name]) => !telling.test(name))),
  }
}
