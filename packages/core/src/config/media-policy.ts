import type { Signal } from '../base/async.ts'

/** What a URL led to. */
export interface FetchedMedia {
  readonly bytes: Uint8Array
  /** Without parameters: `image/png`. */
  readonly mediaType: string
}

/**
 * Which images, documents and sounds the gateway may fetch itself where a client names them by URL. Without a policy it fetches
 * nothing: a URL is passed on, or reported as lost where the upstream's format has no place for it.
 *
 * Who makes one decides which hosts may be asked, and has to see to it that a name does not lead into the own network:
 * `mediaFetcher` of `@modelgate/node` does.
 */
export interface MediaPolicy {
  /**
   * Whether this may be fetched. Asked for every `http` and `https` URL in media of a request. Only `true` allows it, at once or within
   * `limits.callbackMs`; whatever it throws or rejects with is logged, and nothing is fetched.
   */
  allows(url: URL): boolean | Promise<boolean>
  /**
   * Fetches it, within `limits.firstByteMs`: then the signal is aborted, and the file counts as one that could not be fetched. What it rejects with is shown to the client if it is a GatewayError; of any other error it is only told that
   * there was one. Aborting the signal is the client's leaving.
   */
  fetch(url: URL, signal: Signal): Promise<FetchedMedia>
  /**
   * `'needed'` (default): only what the target's format could not carry by its address, and never in calls that are passed on
   * as they came. `'always'`: everything that is allowed, for upstreams that fetch nothing; such calls are rewritten.
   */
  readonly inline?: 'needed' | 'always'
  /**
   * Most parts of one call that are sent as data; a call with more is refused (400). Parts that name the same URL count each, though it
   * is fetched once. Default 20.
   */
  readonly maxCount?: number
  /**
   * Most bytes of media that are sent for one call, before base64; a call with more is refused (400). A file counts for each part that
   * names it. At most 256 MiB. Default: `limits.bodyBytes` of the gateway, as many as a
   * client may send itself.
   */
  readonly maxTotalBytes?: number
}

/** A request is written as one text, in which media take a third more; the longest texts of V8 have 512 Mi characters. */
export const maxMediaBytes = 256 * 1024 * 1024
