import type { Signal } from '../base/async.ts'

/** A file fetched from a URL. */
export interface FetchedMedia {
  readonly bytes: Uint8Array
  /** Media type without parameters: `image/png`. */
  readonly mediaType: string
}

/**
 * Permits the gateway to fetch images, documents and audio that a client refers to by URL. Without a policy it fetches nothing: a URL is
 * passed on, or reported as a loss if the upstream's format does not support URLs.
 *
 * An implementation chooses the permitted hosts and must prevent requests to the internal network. `mediaFetcher` of `@modelgate/node`
 * does both.
 */
export interface MediaPolicy {
  /**
   * Returns whether a URL may be fetched. Called for every `http` and `https` URL in media of a request. Only `true`, or a promise of
   * `true` within `limits.callbackMs`, permits it. Exceptions and rejections are logged, and nothing is fetched.
   */
  allows(url: URL): boolean | Promise<boolean>
  /**
   * Fetches a file within `limits.firstByteMs`; then the fetch counts as failed. The signal is aborted at that time, and when the client
   * disconnects. A GatewayError is sent to the client; for other errors the client learns only that the fetch failed.
   */
  fetch(url: URL, signal: Signal): Promise<FetchedMedia>
  /**
   * `'needed'`: fetches only files for which the target's format supports no URL, and never in pass-through calls. `'always'`: fetches every
   * permitted file, for upstreams that cannot fetch; such calls are rewritten. Default: `'needed'`.
   */
  readonly inline?: 'needed' | 'always'
  /**
   * Largest number of fetched parts per call; a call with more receives 400. Each part counts, although a repeated URL is fetched once.
   * Default: 20.
   */
  readonly maxCount?: number
  /**
   * Largest number of fetched bytes per call, before base64; a call with more receives 400. A file counts for each part that refers to it.
   * At most 256 MiB. Default: `limits.bodyBytes`, the size that a client may send itself.
   */
  readonly maxTotalBytes?: number
}

/** Upper bound of `maxTotalBytes`. Base64 adds a third, a request is one string, and strings of V8 have at most 512 Mi characters. */
export const maxMediaBytes = 256 * 1024 * 1024
