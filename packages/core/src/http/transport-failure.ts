import { GatewayError } from '../base/errors.ts'

/**
 * The error for a response that arrived and could not be read. Undefined for every other failure of a transport: no connection, or a
 * response that was cut.
 *
 * @param begun the response's headers have been read. Default true.
 */
export function unreadableResponse(cause: unknown, begun = true): GatewayError | undefined {
  for (const error of [cause, cause instanceof Error ? cause.cause : undefined]) {
    if (!(error instanceof Error)) continue
    const code = codeOf(error) ?? ''
    // Headers that contradict each other; behind the headers it is a cut.
    const contradicts = !begun && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
    const message = isBadFraming(error, code) || contradicts ? badFraming : messageOf(code)
    if (message !== undefined) return new GatewayError('upstream_bad_response', message, { cause })
  }
  return undefined
}

export const codeOf = (error: unknown): string | undefined => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

const badFraming = 'The upstream sent a response that is not valid HTTP.'
const tooLarge = "The upstream's response headers are too large."

/** undici's parser has no codes of its own. An end within a chunk is a cut. */
const isBadFraming = ({ name, message }: Error, code: string): boolean =>
  (name === 'HTTPParserError' || (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE')) &&
  !message.includes('Invalid EOF state') &&
  code !== 'HPE_HEADER_OVERFLOW'

/** By the codes of undici, zlib and the Node transport. */
function messageOf(code: string): string | undefined {
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') return tooLarge
  if (code === 'ERR_CONTENT_ENCODING')
    return "The upstream's response has a content-encoding that cannot be decoded. Supported: gzip, deflate, br, and zstd from Node 22.15 on."
  if (code === 'Z_DATA_ERROR' || code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ZSTD_error'))
    return "The upstream's response could not be decoded: its data does not match its content-encoding."
  return undefined
}
