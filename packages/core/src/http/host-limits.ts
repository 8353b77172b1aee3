import { GatewayError } from '../base/errors.ts'

interface HostLimit {
  /** Recognizes the error that the host's body stream fails with. */
  readonly message: RegExp
  /** The setting that raises the limit. */
  readonly setting: string
}

/** Body limits of hosts, which reach the gateway as a body that fails. */
const hostLimits: readonly HostLimit[] = [
  {
    message: /BODY_SIZE_LIMIT|^Content-length of \d+ exceeds limit of/,
    setting: 'in SvelteKit, raise BODY_SIZE_LIMIT of adapter-node (512K by default)',
  },
]

/**
 * The error for a body that the host refused because of its size; undefined for a body that failed for another reason.
 *
 * @param cause what reading the body failed with
 */
export function hostLimitError(cause: unknown): GatewayError | undefined {
  if (typeof cause !== 'object' || cause === null) return undefined
  const { message, status, statusCode } = cause as Readonly<Record<string, unknown>>
  const known = typeof message === 'string' ? hostLimits.find((host) => host.message.test(message)) : undefined
  if (known === undefined && status !== 413 && statusCode !== 413) return undefined
  return tooLargeForHost(
    `the app around the gateway refused it: ${known?.setting ?? 'raise its limit for bodies'}.`,
    cause,
  )
}

/**
 * The error for a body that ended before its announced length. Next.js passes on only the first 10 MB where the app has a proxy (middleware).
 *
 * @param size bytes that arrived
 * @param announced the content-length
 */
export const cutByHost = (size: number, announced: number): GatewayError =>
  tooLargeForHost(
    `only ${size} of ${announced} bytes arrived. The app around the gateway cuts bodies: in Next.js, raise \`experimental.proxyClientMaxBodySize\` (\`middlewareClientMaxBodySize\` before Next.js 16; 10 MB by default).`,
  )

const tooLargeForHost = (why: string, cause?: unknown): GatewayError =>
  new GatewayError('request_too_large', `The request body is too large: ${why}`, { cause })
