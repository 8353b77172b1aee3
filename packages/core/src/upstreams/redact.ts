import { redactorOf } from './redaction/redactor.ts'
import { configuredHeaders, isSecret } from './redaction/secrets.ts'
import type { Upstream } from './upstream.ts'

/**
 * Takes an upstream's credentials and address out of a text that is no content: in whole and in part, in every spelling of
 * `upstreams/redaction/spellings.ts`, or with the escapes of JSON.
 */
export const redact = (text: string, upstream: Upstream): string => redactorOf(upstream).text(text)

/** Headers of a call, fit to be shown: everything but what is known to be public is masked. */
export const maskHeaders = (
  headers: Readonly<Record<string, string>>,
  upstream: Upstream,
): Readonly<Record<string, string>> => {
  const own = new Set(configuredHeaders(upstream).map(([name]) => name.toLowerCase()))
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, own.has(name) && isSecret(name) ? '***' : value]),
  )
}
