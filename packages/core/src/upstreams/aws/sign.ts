import { settleWithin } from '../../base/async.ts'
import type { OutgoingCall } from '../upstream.ts'

/** AWS access key, as the providers of `@aws-sdk/credential-providers` return it. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Present in temporary credentials. */
  readonly sessionToken?: string | undefined
  /**
   * Expiry of the credentials. Credentials from a function are cached until five minutes before it. Default: the function is called for
   * each call.
   */
  readonly expiration?: Date | undefined
}

/** AWS credentials, or a function that returns them, such as `fromNodeProviderChain()` of `@aws-sdk/credential-providers`. */
export type AwsCredentialSource = AwsCredentials | (() => AwsCredentials | Promise<AwsCredentials>)

/** Credentials are renewed this long before they expire. */
const earlyMs = 300_000
const timeout = { name: 'credentials()', ms: 30_000, fix: 'Return AWS credentials sooner.' } as const

/**
 * Returns an `authorize` function that signs calls to an AWS service (Signature Version 4) with the optional package `aws4fetch`. The
 * function rejects if the package or the credentials are missing.
 *
 * @throws TypeError for credentials without `accessKeyId` or `secretAccessKey`
 */
export function signCalls(
  source: AwsCredentialSource,
  { region, service, now = Date.now }: { region: string; service: string; now?: () => number },
): (call: OutgoingCall) => Promise<Readonly<Record<string, string>>> {
  const credentials = typeof source === 'function' ? cacheCredentials(source, now) : constant(checkCredentials(source))
  // Signing keys derived from a secret, by day. aws4fetch fills this map and never clears it.
  const cache = new Map<string, ArrayBuffer>()
  let cached = ''
  return async ({ method, url, headers, body }) => {
    const [Signer, { accessKeyId, secretAccessKey, sessionToken }] = await Promise.all([loadSigner(), credentials()])
    if (secretAccessKey !== cached) cache.clear()
    cached = secretAccessKey
    const signer = new Signer({
      method,
      url,
      // Signs only the required headers: transports and proxies may change others (accept-encoding), which would invalidate the signature.
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-amz'))),
      body: (body ?? null) as string | Uint8Array<ArrayBuffer> | null,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      region,
      service,
      datetime: new Date(now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
      cache,
    })
    const signed = await signer.sign()
    const out: Record<string, string> = {}
    for (const name of ['authorization', 'x-amz-date', 'x-amz-security-token']) {
      const value = signed.headers.get(name)
      if (value !== null) out[name] = value
    }
    return out
  }
}

type Signer = typeof import('aws4fetch').AwsV4Signer

async function loadSigner(): Promise<Signer> {
  // A literal name within a `try` lets bundlers include the package if it is installed and continue if it is not.
  try {
    const { AwsV4Signer } = await import('aws4fetch')
    return AwsV4Signer
  } catch (cause) {
    throw new Error(
      "AWS credentials require the package 'aws4fetch' to sign calls. Run npm install aws4fetch, or use a Bedrock API key (apiKey), which needs no signature.",
      { cause },
    )
  }
}

function checkCredentials(credentials: AwsCredentials): AwsCredentials {
  for (const field of ['accessKeyId', 'secretAccessKey'] as const)
    if (typeof credentials?.[field] !== 'string' || credentials[field] === '')
      throw new TypeError(`The AWS credentials have no ${field}: set accessKeyId and secretAccessKey`)
  const expiration: unknown = credentials.expiration
  if (expiration !== undefined && !(expiration instanceof Date && Number.isFinite(expiration.getTime())))
    throw new TypeError(`The AWS credentials have an expiration that is not a Date: set a Date, or leave it out`)
  return credentials
}

const constant =
  (credentials: AwsCredentials): (() => Promise<AwsCredentials>) =>
  () =>
    Promise.resolve(credentials)

/** Caches the credentials until shortly before they expire. Concurrent calls share one request. */
function cacheCredentials(
  load: () => AwsCredentials | Promise<AwsCredentials>,
  now: () => number,
): () => Promise<AwsCredentials> {
  let pending: Promise<AwsCredentials> | undefined
  let until = 0
  return async () => {
    if (pending === undefined || now() >= until) {
      until = Number.POSITIVE_INFINITY
      // Without a timeout, a request that never settles would block all later calls.
      const request = settleWithin(Promise.resolve().then(load), timeout).then(checkCredentials)
      pending = request
      request.then(
        ({ expiration }) => {
          until = expiration === undefined ? 0 : expiration.getTime() - earlyMs
        },
        () => {
          until = 0
        },
      )
    }
    return pending
  }
}
