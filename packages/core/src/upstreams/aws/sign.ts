import { settleWithin } from '../../base/async.ts'
import type { OutgoingCall } from '../upstream.ts'

/** An access key of AWS. What `@aws-sdk/credential-providers` returns is one. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Comes with credentials that are lent for a while. */
  readonly sessionToken?: string | undefined
  /** Until when they can be used: a function's credentials are kept until five minutes before. Default: asked for anew for each call. */
  readonly expiration?: Date | undefined
}

/** Credentials, or a function that returns them: `fromNodeProviderChain()` of `@aws-sdk/credential-providers` is one. */
export type AwsCredentialSource = AwsCredentials | (() => AwsCredentials | Promise<AwsCredentials>)

const earlyMs = 300_000
const waiting = { name: 'credentials()', ms: 30_000, fix: 'Return AWS credentials sooner.' } as const

/**
 * Signs calls to an AWS service (Signature Version 4) with the optional peer `aws4fetch`.
 *
 * @returns what `Upstream.authorize` asks for; it rejects where there is no signer, and where there are no credentials
 * @throws TypeError for credentials without their two halves
 */
export function signCalls(
  source: AwsCredentialSource,
  { region, service, now = Date.now }: { region: string; service: string; now?: () => number },
): (call: OutgoingCall) => Promise<Readonly<Record<string, string>>> {
  const credentials = typeof source === 'function' ? keep(source, now) : always(checked(source))
  // Keys derived from a secret, by day: aws4fetch's own, which it never clears.
  const cache = new Map<string, ArrayBuffer>()
  let cached = ''
  return async ({ method, url, headers, body }) => {
    const [Signer, { accessKeyId, secretAccessKey, sessionToken }] = await Promise.all([loadSigner(), credentials()])
    if (secretAccessKey !== cached) cache.clear()
    cached = secretAccessKey
    const signer = new Signer({
      method,
      url,
      // Only what must be signed: transports and proxies may touch the others (accept-encoding), which would break it.
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
  // By name and within a try, so that bundlers take the package in where it is there and do without where it is not.
  try {
    const { AwsV4Signer } = await import('aws4fetch')
    return AwsV4Signer
  } catch (cause) {
    throw new Error(
      "AWS credentials need the package 'aws4fetch' to sign calls: npm install aws4fetch. Or use a Bedrock API key (apiKey), which needs no signature.",
      { cause },
    )
  }
}

function checked(credentials: AwsCredentials): AwsCredentials {
  for (const field of ['accessKeyId', 'secretAccessKey'] as const)
    if (typeof credentials?.[field] !== 'string' || credentials[field] === '')
      throw new TypeError(`The AWS credentials have no ${field}: give accessKeyId and secretAccessKey`)
  const expiration: unknown = credentials.expiration
  if (expiration !== undefined && !(expiration instanceof Date && Number.isFinite(expiration.getTime())))
    throw new TypeError(`The AWS credentials have an expiration that is no Date: give a Date, or leave it out`)
  return credentials
}

const always =
  (credentials: AwsCredentials): (() => Promise<AwsCredentials>) =>
  () =>
    Promise.resolve(credentials)

/** Asks once for calls that come together, and no more while the answer is good for a while. */
function keep(ask: () => AwsCredentials | Promise<AwsCredentials>, now: () => number): () => Promise<AwsCredentials> {
  let asked: Promise<AwsCredentials> | undefined
  let until = 0
  return async () => {
    if (asked === undefined || now() >= until) {
      until = Number.POSITIVE_INFINITY
      // One that never settles must not keep all later calls waiting for it.
      const asking = settleWithin(Promise.resolve().then(ask), waiting).then(checked)
      asked = asking
      asking.then(
        ({ expiration }) => {
          until = expiration === undefined ? 0 : expiration.getTime() - earlyMs
        },
        () => {
          until = 0
        },
      )
    }
    return asked
  }
}
