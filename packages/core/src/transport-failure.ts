import { GatewayError } from './errors.ts'

/**
 * The error for a response that arrived and could not be read. Undefined for every other failure of a transport: no connection, or a
 * response that was cut.
 */
export function unreadableResponse(cause: unknown): GatewayError | undefined {
  for (const error of [cause, cause instanceof Error ? cause.cause : undefined]) {
    const code = codeOf(error)
    if (code === undefined) continue
    const message = messages[code] ?? (isBadFraming(code) ? badFraming : isBadEncoding(code) ? badEncoding : undefined)
    if (message !== undefined) return new GatewayError('upstream_bad_response', message, { cause })
  }
  return undefined
}

export const codeOf = (error: unknown): string | undefined => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

const badFraming = 'The upstream sent a response that is not valid HTTP.'
const badEncoding = "The upstream's response could not be decoded: its data does not match its content-encoding."

/** By the codes of undici and zlib. */
const messages: { readonly [code: string]: string | undefined } = {
  ERR_CONTENT_ENCODING:
    "The upstream's response has a content-encoding that cannot be decoded. Supported: gzip, deflate, br, and zstd from Node 22.15 on.",
  UND_ERR_HEADERS_OVERFLOW: "The upstream's response headers are too large.",
  HPE_HEADER_OVERFLOW: "The upstream's response headers are too large.",
  Z_DATA_ERROR: badEncoding,
}

/** Codes of the HTTP parser. An end within a chunk is a cut. */
const isBadFraming = (code: string): boolean => code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE'

/** Codes of the brotli and zstd decoders. */
const isBadEncoding = (code: string): boolean => code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ZSTD_error')
