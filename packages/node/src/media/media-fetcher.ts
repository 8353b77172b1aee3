import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { type FetchedMedia, GatewayError, type MediaPolicy, type Signal } from '@modelgate/core'
import { Client, type Dispatcher } from 'undici'
import { isPublicAddress } from './public-address.ts'

/** Options of `mediaFetcher`. */
export interface MediaFetcherOptions {
  /** Allowed hosts, without a port: `images.example.com`, or `*.example.net` for all its subdomains. */
  hosts: readonly string[]
  /** Maximum size of one file in bytes. Default 20 MiB. */
  maxBytes?: number
  /** Accepted media types: `image/png`, or `image/*`. Default: images, audio, video, PDF and plain text. */
  types?: readonly string[]
  /** Milliseconds for one file, including redirects. Default: 10 s. */
  timeoutMs?: number
  /** Allows `http` and any port. Default false: only `https` on port 443. */
  insecure?: boolean
  /**
   * Returns `true` if the gateway may connect to an address of a host; any other result, including a promise, rejects it. Called for
   * every address of a name. Default: addresses of the public internet.
   */
  allowAddress?: (address: string) => boolean
  /** See MediaPolicy. */
  inline?: 'needed' | 'always'
  /** See MediaPolicy. */
  maxCount?: number
  /** See MediaPolicy. */
  maxTotalBytes?: number
}

const usualTypes = ['image/*', 'audio/*', 'video/*', 'application/pdf', 'text/plain']
const maxRedirects = 3

/**
 * Creates a media policy for Node that fetches from the listed hosts only. It connects to the address that it has checked, so that a
 * name cannot lead into the private network, even if its DNS record changes meanwhile. No credential, cookie or header of the
 * client is sent. Up to three redirects are followed under the same rules.
 *
 * @throws TypeError if an entry of `hosts` is not a host name
 */
export function mediaFetcher(options: MediaFetcherOptions): MediaPolicy & { allows(url: URL): boolean } {
  const { hosts, insecure = false, inline, maxCount, maxTotalBytes } = options
  for (const host of hosts)
    if (!/^(\*\.)?[a-z0-9.:[\]_-]+$/i.test(host) || host.includes('/') || /:\d+$/.test(host))
      throw new TypeError(
        `hosts: '${host}' is not a host name: write 'images.example.com' or '*.example.com', without a scheme or a port`,
      )
  const exact = new Set(hosts.filter((host) => !host.startsWith('*.')).map((host) => host.toLowerCase()))
  const suffixes = hosts.filter((host) => host.startsWith('*.')).map((host) => host.slice(1).toLowerCase())

  const allows = ({ protocol, hostname, port, username, password }: URL): boolean =>
    (insecure ? protocol === 'http:' || protocol === 'https:' : protocol === 'https:' && port === '') &&
    username === '' &&
    password === '' &&
    (exact.has(hostname) || suffixes.some((suffix) => hostname.endsWith(suffix)))

  return {
    allows,
    fetch: (url, signal) => fetchMedia(url, signal, allows, options),
    ...(inline === undefined ? {} : { inline }),
    ...(maxCount === undefined ? {} : { maxCount }),
    ...(maxTotalBytes === undefined ? {} : { maxTotalBytes }),
  }
}

/** Creates the error for the client. Its text contains nothing that the client did not send itself. */
const refused = (text: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_request', text, cause === undefined ? {} : { cause })

async function fetchMedia(
  first: URL,
  signal: Signal,
  allows: (url: URL) => boolean,
  options: MediaFetcherOptions,
): Promise<FetchedMedia> {
  const { timeoutMs = 10_000 } = options
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(refused(`the download took longer than ${timeoutMs} ms`)), timeoutMs)
  const onAbort = (): void => controller.abort(refused('the client disconnected'))
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort)
  try {
    let url = first
    for (let hops = 0; hops <= maxRedirects; hops++) {
      const result = await fetchOnce(url, controller.signal, options)
      if (!(result instanceof URL)) return result
      if (!allows(result)) throw refused('the URL redirects to a host that is not allowed')
      url = result
    }
    throw refused(`the URL redirects more than ${maxRedirects} times`)
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason
    // The same text for an unknown name, a private address and an unreachable host, so that clients cannot probe the network.
    throw cause instanceof GatewayError ? cause : refused('the host of the URL could not be reached', cause)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

/** Returns the file at the URL, or the URL of a redirect. */
async function fetchOnce(url: URL, signal: AbortSignal, options: MediaFetcherOptions): Promise<FetchedMedia | URL> {
  const client = new Client(url.origin, {
    allowH2: false,
    connect: { lookup: await untilAborted(signal, checkedLookup(url, options)) },
  })
  try {
    const response = await client.request({
      method: 'GET',
      path: url.pathname + url.search,
      // Uncompressed, because compressed data can decode to any size.
      headers: {
        accept: (options.types ?? usualTypes).join(', '),
        'accept-encoding': 'identity',
        'user-agent': 'modelgate',
      },
      signal,
    })
    const { statusCode, headers } = response
    if (statusCode >= 300 && statusCode < 400 && typeof headers.location === 'string') {
      if (!URL.canParse(headers.location, url)) throw refused('the URL redirects to an invalid URL')
      return new URL(headers.location, url)
    }
    if (statusCode !== 200) throw refused(`the host of the URL returned status ${statusCode}`)
    if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
      throw refused('the host of the URL sends the file with a content-encoding')
    return await readMedia(response, options)
  } finally {
    // Does not wait for the unread rest of the body.
    void client.destroy().catch(() => {})
  }
}

/** Waits for a promise, and rejects with the signal's reason on abort. For DNS lookups, which cannot be cancelled. */
function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Resolves the host once, checks all its addresses, and returns a lookup function that yields exactly these. */
async function checkedLookup(
  { hostname }: URL,
  { allowAddress = isPublicAddress }: MediaFetcherOptions,
): Promise<LookupFunction> {
  const literal = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(literal)
  const addresses = family > 0 ? [{ address: literal, family }] : await lookup(hostname, { all: true })
  const [first] = addresses
  if (first === undefined || !addresses.every(({ address }) => isAllowed(allowAddress(address))))
    throw new Error(`'${hostname}' is not on the public internet`)
  return (_hostname, { all }, done) => {
    if (all === true) done(null, addresses)
    else done(null, first.address, first.family)
  }
}

function isAllowed(result: unknown): boolean {
  // The rejection of a promise that is not awaited would end the process.
  if (result instanceof Promise) result.catch(() => {})
  return result === true
}

async function readMedia(
  { headers, body }: Dispatcher.ResponseData,
  { maxBytes = 20 * 1024 * 1024, types = usualTypes }: MediaFetcherOptions,
): Promise<FetchedMedia> {
  const tooLarge = (): GatewayError => refused(`the file is larger than ${maxBytes} bytes`)
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const declaredType = String(headers['content-type'] ?? '')
    .replace(/;.*$/s, '')
    .trim()
    .toLowerCase()
  const isAccepted = (type: string): boolean =>
    types.some((accepted) => (accepted.endsWith('/*') ? type.startsWith(accepted.slice(0, -1)) : type === accepted))
  // Object stores use these for files of unknown type; the first bytes may show it.
  const isUnknown = ['', 'application/octet-stream', 'binary/octet-stream'].includes(declaredType)
  if (!isUnknown && !isAccepted(declaredType))
    throw refused(`the file has the type '${declaredType.slice(0, 60)}', which is not accepted`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  const mediaType = isUnknown ? detectType(bytes) : declaredType
  if (mediaType === undefined || !isAccepted(mediaType))
    throw refused('the host of the URL does not send the type of the file')
  return { bytes, mediaType }
}

/** Magic numbers at the start of files. */
const magicNumbers: readonly (readonly [start: string, mediaType: string])[] = [
  ['\x89PNG', 'image/png'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['GIF8', 'image/gif'],
  ['%PDF-', 'application/pdf'],
]

function detectType(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 12)
  if (head.startsWith('RIFF') && head.endsWith('WEBP')) return 'image/webp'
  return magicNumbers.find(([start]) => head.startsWith(start))?.[1]
}
