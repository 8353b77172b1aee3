import type { FakeProviderOptions } from '../contract/options.ts'
import { invalidRequest, type WireError } from '../wire/errors.ts'
import type { RequestHead } from './dialect.ts'

type AcceptedKey = FakeProviderOptions['apiKey']

const isGood = (key: string | undefined, wanted: AcceptedKey): boolean =>
  key !== undefined &&
  key !== '' &&
  (wanted === undefined || (typeof wanted === 'string' ? key === wanted : wanted(key)))

const bearerToken = (head: RequestHead): string | undefined =>
  /^Bearer\s+(.*)$/i.exec(head.headers.authorization ?? '')?.[1]?.trim()

/** Checks OpenAI's key, in the header `authorization` only. */
export function checkOpenaiKey(head: RequestHead, wanted: AcceptedKey): WireError | undefined {
  const bearer = bearerToken(head)
  if (isGood(bearer, wanted)) return undefined
  if (!bearer) {
    return invalidRequest(
      401,
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from https://platform.openai.com/account/api-keys.",
    )
  }
  return invalidRequest(
    401,
    `Incorrect API key provided: ${maskKey(bearer)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
    { code: 'invalid_api_key' },
  )
}

/** Checks Anthropic's key, in its own header or as a bearer token. */
export function checkAnthropicKey(head: RequestHead, wanted: AcceptedKey): WireError | undefined {
  const bearer = bearerToken(head)
  const header = head.headers['x-api-key']?.trim()
  if (isGood(header, wanted) || isGood(bearer, wanted)) return undefined
  const message = header ? 'invalid x-api-key' : bearer ? 'Invalid bearer token' : 'x-api-key header is required'
  return { status: 401, type: 'authentication_error', message }
}

const apiKeyInvalid = 'API key not valid. Please pass a valid API key.'

/**
 * Checks Google's key, in its own header or as `?key=`. A bearer token must be an OAuth token: those begin with `ya29.`, and
 * Vertex paths accept nothing else.
 */
export function checkGoogleKey(head: RequestHead, wanted: AcceptedKey): WireError | undefined {
  const key = head.headers['x-goog-api-key']?.trim() || new URLSearchParams(head.query).get('key') || undefined
  const bearer = bearerToken(head)
  const oauth = bearer !== undefined && (bearer.startsWith('ya29.') || head.path.includes('/publishers/google/'))
  if (isGood(key, wanted) || (key === undefined && oauth && isGood(bearer, wanted))) return undefined
  if (key !== undefined) {
    return {
      status: 400,
      type: 'INVALID_ARGUMENT',
      message: apiKeyInvalid,
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'API_KEY_INVALID',
          domain: 'googleapis.com',
          metadata: { service: 'generativelanguage.googleapis.com' },
        },
        { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message: apiKeyInvalid },
      ],
    }
  }
  if (bearer !== undefined) {
    return {
      status: 401,
      type: 'UNAUTHENTICATED',
      message:
        'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'ACCESS_TOKEN_TYPE_UNSUPPORTED',
          metadata: { service: 'generativelanguage.googleapis.com' },
        },
      ],
    }
  }
  return {
    status: 403,
    type: 'PERMISSION_DENIED',
    message:
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  }
}

/** Masks a key as OpenAI shows it: the first eight and the last four characters. */
const maskKey = (key: string): string =>
  key.length <= 12 ? key : `${key.slice(0, 8)}${'*'.repeat(key.length - 12)}${key.slice(-4)}`
