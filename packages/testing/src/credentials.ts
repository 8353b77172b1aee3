import type { WireError } from './errors.ts'
import type { FakeFormat, FakeProviderOptions } from './types.ts'

/** What the provider of a format says to a missing or wrong key; undefined if the key is good. */
export function checkCredentials(
  format: FakeFormat,
  headers: Readonly<Record<string, string>>,
  wanted: FakeProviderOptions['apiKey'],
): WireError | undefined {
  const bearer = /^Bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1]?.trim()
  const header = headers['x-api-key']?.trim()
  const good = (key: string | undefined): boolean =>
    key !== undefined &&
    key !== '' &&
    (wanted === undefined || (typeof wanted === 'string' ? key === wanted : wanted(key)))
  if (format === 'messages') {
    if (good(header) || good(bearer)) return undefined
    const message = header ? 'invalid x-api-key' : bearer ? 'Invalid bearer token' : 'x-api-key header is required'
    return { status: 401, type: 'authentication_error', message }
  }
  // OpenAI looks at no other header than this one.
  if (good(bearer)) return undefined
  if (!bearer) {
    return {
      status: 401,
      type: 'invalid_request_error',
      message:
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from https://platform.openai.com/account/api-keys.",
    }
  }
  return {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message: `Incorrect API key provided: ${masked(bearer)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
  }
}

/** The first eight and the last four characters, as OpenAI shows them. */
const masked = (key: string): string =>
  key.length <= 12 ? key : `${key.slice(0, 8)}${'*'.repeat(key.length - 12)}${key.slice(-4)}`
