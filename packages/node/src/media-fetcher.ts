import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { type FetchedMedia, GatewayError, type MediaPolicy, type Signal } from '@modelgate/core'
import { Client, type Dispatcher } from 'undici'
import { isPublicAddress } from './public-address.ts'

/** What `mediaFetcher` may fetch. */
export interface MediaFetcherOptions {
  /** Hosts that may be asked, without a port: `images.example.com`, or `*.example.net` for all below it. No default: nobody. */
  hosts: readonly string[]
  /** Largest of one, in bytes. Default 20 MiB. */
  maxBytes?: number
  /** Media types taken: `image/png`, or `image/*`. Default: images, sounds, videos, PDF and plain text. */
  types?: readonly string[]
  /** Milliseconds for one, redirects included. Default: 10 s. */
  timeoutMs?: number
  /** Whether `http` will do; ports are those of the URL then. Default false: `https` on its own port. */
  insecure?: boolean
  /**
   * Whether a host's address may be connected to, by `true` alone: a promise is a no. Default: those of the public internet. Asked of
   * every address of a name.
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
const mostRedirects = 3

/**
 * A media policy for Node: fetches from the hosts that are named and from no others, and connects to the very address that was
 * looked at, so that a name cannot lead into the own network, not even by changing between look and connection. No
 * credential, cookie or header of the client goes along. A redirect is followed within the same rules, three times at most.
 *
 * @throws TypeError for hosts that are none
 */
export function mediaFetcher(options: MediaFetcherOptions): MediaPolicy & { allows(url: URL): boolean } {
  const { hosts, insecure = false, inline, maxCount, maxTotalBytes } = options
  for (const host of hosts)
    if (!/^(\*\.)?[a-z0-9.:[\]_-]+$/i.test(host) || host.includes('/') || /:\d+$/.test(host))
      throw new TypeError(
        `hosts: '${host}' is no host: write 'images.example.com' or '*.example.com', without a scheme or a port`,
      )
  const exact = new Set(hosts.filter((host) => !host.startsWith('*.')).map((host) => host.toLowerCase()))
  const endings = hosts.filter((host) => host.startsWith('*.')).map((host) => host.slice(1).toLowerCase())

  const allows = ({ protocol, hostname, port, username, password }: URL): boolean =>
    (insecure ? protocol === 'http:' || protocol === 'https:' : protocol === 'https:' && port === '') &&
    username === '' &&
    password === '' &&
    (exact.has(hostname) || endings.some((ending) => hostname.endsWith(ending)))

  return {
    allows,
    fetch: (url, signal) => fetchMedia(url, signal, allows, options),
    ...(inline === undefined ? {} : { inline }),
    ...(maxCount === undefined ? {} : { maxCount }),
    ...(maxTotalBytes === undefined ? {} : { maxTotalBytes }),
  }
}

/** Why it could not be had, for the client: nothing in it that the client did not say itself. */
const refused = (what: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_request', what, cause === undefined ? {} : { cause })

async function fetchMedia(
  first: URL,
  signal: Signal,
  allows: (url: URL) => boolean,
  options: MediaFetcherOptions,
): Promise<FetchedMedia> {
  const { timeoutMs = 10_000 } = options
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(refused(`it did not come within ${timeoutMs} ms`)), timeoutMs)
  const leave = (): void => controller.abort(refused('the client left'))
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave)
  try {
    let url = first
    for (let hops = 0; hops <= mostRedirects; hops++) {
      const came = await fetchOnce(url, controller.signal, options)
      if (!(came instanceof URL)) return came
      if (!allows(came)) throw refused('it redirects to where nothing may be fetched from')
      url = came
    }
    throw refused(`it redirects more than ${mostRedirects} times`)
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason
    // In the same words for a name that does not exist, one that leads into the own network, and a host that does not answer.
    throw cause instanceof GatewayError ? cause : refused('its host could not be reached', cause)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

/** What is at the URL, or where it redirects to. */
async function fetchOnce(url: URL, signal: AbortSignal, options: MediaFetcherOptions): Promise<FetchedMedia | URL> {
  const client = new Client(url.origin, { connect: { lookup: await unless(signal, pinned(url, options)) } })
  try {
    const response = await client.request({
      method: 'GET',
      path: url.pathname + url.search,
      // As it is: what unpacks can be of any size.
      headers: {
        accept: (options.types ?? usualTypes).join(', '),
        'accept-encoding': 'identity',
        'user-agent': 'modelgate',
      },
      signal,
    })
    const { statusCode, headers } = response
    if (statusCode >= 300 && statusCode < 400 && typeof headers.location === 'string') {
      if (!URL.canParse(headers.location, url)) throw refused('it redirects to no address')
      return new URL(headers.location, url)
    }
    if (statusCode !== 200) throw refused(`its host answered ${statusCode}`)
    if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
      throw refused('its host sends it compressed')
    return await readMedia(response, options)
  } finally {
    // Without waiting for what was not read.
    void client.destroy().catch(() => {})
  }
}

/** What is awaited, or the signal's reason: looking a name up cannot be stopped. */
function unless<T>(signal: AbortSignal, awaited: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    awaited.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** Looks the name up once, and has the connection made to what was found. */
async function pinned(
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

function isAllowed(answer: unknown): boolean {
  // Nobody awaits a promise here; its rejection must not end the process.
  if (answer instanceof Promise) answer.catch(() => {})
  return answer === true
}

async function readMedia(
  { headers, body }: Dispatcher.ResponseData,
  { maxBytes = 20 * 1024 * 1024, types = usualTypes }: MediaFetcherOptions,
): Promise<FetchedMedia> {
  const tooLarge = (): GatewayError => refused(`it is larger than ${maxBytes} bytes`)
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const told = String(headers['content-type'] ?? '')
    .replace(/;.*$/s, '')
    .trim()
    .toLowerCase()
  const isTaken = (type: string): boolean =>
    types.some((taken) => (taken.endsWith('/*') ? type.startsWith(taken.slice(0, -1)) : type === taken))
  // Stores that know no type say so; their bytes may.
  const untold = told === '' || told === 'application/octet-stream' || told === 'binary/octet-stream'
  if (!untold && !isTaken(told)) throw refused(`it is of the type '${told.slice(0, 60)}', which is not taken`)
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > maxBytes) throw tooLarge()
    parts.push(part)
  }
  const bytes = Buffer.concat(parts)
  const mediaType = untold ? typeOf(bytes) : told
  if (mediaType === undefined || !isTaken(mediaType)) throw refused('its host does not say what it is')
  return { bytes, mediaType }
}

/** First bytes by which files are known. */
const beginnings: readonly (readonly [start: string, mediaType: string])[] = [
  ['\x89PNG', 'image/png'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['GIF8', 'image/gif'],
  ['%PDF-', 'application/pdf'],
]

function typeOf(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 12)
  if (head.startsWith('RIFF') && head.endsWith('WEBP')) return 'image/webp'
  return beginnings.find(([start]) => head.startsWith(start))?.[1]
}
