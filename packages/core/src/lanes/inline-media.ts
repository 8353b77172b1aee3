import { CallbackError, createCanceller, isThenable, settleWithin } from '../base/async.ts'
import { toBase64 } from '../base/bytes.ts'
import { decideNow, logOncePerMinute, typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { FetchedMedia } from '../config/media-policy.ts'
import type { Loss, MediaPart, ModelRequest, Part } from '../formats/ir.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { loss } from '../formats/shared/report.ts'
import type { Lane, MediaFetching } from './lane.ts'

/** An edit of the decoded request, before it is encoded for the upstream. */
export type Edit = (model: ModelRequest) => void

/** In base64 from the beginning: each of a call's targets is sent it so. */
type Found = { readonly mediaType: string; readonly data: string } | { readonly failure: GatewayError }
type Addressed = MediaPart & { source: { type: 'url'; url: string } }

/** What was fetched for a request: its other targets need not fetch it again. */
const fetched = new WeakMap<RequestBody, Map<string, Promise<Found>>>()

/**
 * The translation with the media in it that its target could not be sent by their address, where the policy lets them be fetched.
 * What cannot be had stays an address, and is reported with the reason. Throws GatewayError for more than the policy's numbers.
 *
 * @param translate makes the lane, with an edit of the decoded request
 */
export async function withMedia(
  request: RequestBody,
  media: MediaFetching,
  translate: (edit: Edit) => Lane,
): Promise<Lane> {
  const { policy } = media
  let addressed: readonly Addressed[] = []
  const plain = translate((model) => {
    addressed = [...addressedIn(model)]
  })
  if (addressed.length === 0) return plain
  const urls = addressed.map(({ source }) => source.url)
  const allowed = await allowedUrls(urls, media)
  const parts = addressed.filter((_, at) => allowed.has(urls[at] as string))
  if (parts.length === 0) return plain
  const wanted = policy.inline === 'always' ? parts : parts.filter(helpedBy(translate, plain))
  if (wanted.length === 0) return plain
  const wantedUrls = new Set(wanted.map(({ source }) => source.url))
  // Every part that names such an address is sent its own copy of the bytes.
  const sent = parts.filter(({ source }) => wantedUrls.has(source.url))
  const found = await fetchAll(sent, request, media)
  const lane = translate((model) => {
    for (const part of addressedIn(model)) {
      const one = found.get(part.source.url)
      if (one !== undefined && !('failure' in one)) putIn(part, one.mediaType, one.data)
    }
  })
  const fatal = new Map<string, Loss>()
  for (const lost of lane.report.losses)
    if (lost.severity === 'fatal' && !fatal.has(lost.path)) fatal.set(lost.path, lost)
  for (const { source, at = '' } of sent) {
    const one = found.get(source.url)
    if (one === undefined) continue
    if ('failure' in one) tellFailure(one.failure, at, fatal.get(at), lane)
    else lane.report.add(loss(at, 'it was fetched, and sent as data', 'moved', 'note'))
  }
  return lane
}

/** Every part that is named by a URL; tools answer with such, too. */
function* addressedIn(model: ModelRequest): Generator<Addressed> {
  for (const { parts } of model.turns) yield* addressedOf(parts)
}
function* addressedOf(parts: readonly Part[]): Generator<Addressed> {
  for (const part of parts)
    if (part.type === 'tool-result') yield* addressedOf(part.parts)
    else if (part.type === 'media' && part.source.type === 'url') yield part as Addressed
}

/** What a part would most likely turn out to be. */
const likely: Readonly<Record<MediaPart['kind'], string>> = {
  image: 'image/png',
  audio: 'audio/mpeg',
  video: 'video/mp4',
  document: 'application/pdf',
}

/** Whether less would be lost of a part if its bytes were sent: tried with bytes that mean nothing. */
function helpedBy(translate: (edit: Edit) => Lane, plain: Lane): (part: Addressed) => boolean {
  const trial = translate((model) => {
    for (const part of addressedIn(model)) putIn(part, part.mediaType ?? likely[part.kind], 'AAAA')
  })
  // Added up once: there may be as many losses as parts.
  const before = weightsOf(plain)
  const after = weightsOf(trial)
  return ({ at = '' }) => (after.get(at) ?? 0) < (before.get(at) ?? 0)
}

const weights: Readonly<Record<Loss['severity'], number>> = { fatal: 1e6, warn: 1000, note: 1 }

/** How much is lost, by where it stands in the client's body. */
function weightsOf({ report }: Lane): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { path, severity } of report.losses) sums.set(path, (sums.get(path) ?? 0) + weights[severity])
  return sums
}

function putIn(part: MediaPart, mediaType: string, data: string): void {
  // Documents go by a name, and nothing says it better than where it came from.
  const { source } = part
  if (part.kind === 'document' && part.name === undefined && source.type === 'url') {
    const name = new URL(source.url).pathname.split('/').at(-1)
    if (name !== undefined && name !== '') part.name = name
  }
  part.source = { type: 'base64', data }
  part.mediaType = mediaType
}

const atOnce = 4
/** What a call is let have fetched where the policy does not say; bytes: as many as a client may send itself. */
const defaultCount = 20

/**
 * Fetches each address once. Both limits count what is sent, before it is copied: a part that names the same address as another
 * one counts again.
 */
async function fetchAll(
  parts: readonly Addressed[],
  request: RequestBody,
  media: MediaFetching,
): Promise<ReadonlyMap<string, Found>> {
  const { maxCount = defaultCount, maxTotalBytes = media.maxTotalBytes } = media.policy
  if (parts.length > maxCount)
    throw tooMuch(
      parts[maxCount],
      `The request names ${parts.length} files by URL that would have to be fetched and sent as data; at most ${maxCount} are.`,
    )
  const known = fetched.get(request) ?? new Map<string, Promise<Found>>()
  fetched.set(request, known)
  const found = new Map<string, Found>()
  const uses = new Map<string, Addressed[]>()
  for (const part of parts) {
    const same = uses.get(part.source.url)
    if (same === undefined) uses.set(part.source.url, [part])
    else same.push(part)
  }
  const all = [...uses]
  let bytes = 0
  // A few at a time: what is too much in all must not be here in all first.
  for (let at = 0; at < all.length; at += atOnce) {
    const some = all.slice(at, at + atOnce)
    for (const [url] of some) if (!known.has(url)) known.set(url, fetchOne(url, media))
    let largest: Addressed | undefined
    for (const [url, same] of some) {
      const one = await (known.get(url) as Promise<Found>)
      found.set(url, one)
      if (!('data' in one)) continue
      bytes += base64Bytes(one.data) * same.length
      if (bytes > maxTotalBytes) largest ??= same[0]
    }
    if (largest !== undefined)
      throw tooMuch(
        largest,
        `The files that the request names by URL are larger than ${maxTotalBytes} bytes together; a file counts for each part that names it.`,
      )
  }
  return found
}

/** Base64: four characters for three bytes, and `=` for what is missing at the end. */
function base64Bytes(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return (data.length / 4) * 3 - padding
}

function tooMuch(part: Addressed | undefined, message: string): GatewayError {
  return new GatewayError('invalid_request', message, part?.at === undefined ? {} : { param: paramOf(part.at) })
}

const paramOf = (at: string): string => at.slice(1).replaceAll('/', '.')

/** Never rejects. */
async function fetchOne(url: string, { policy, signal, logger, limits }: MediaFetching): Promise<Found> {
  // One of its own: a fetch that takes too long is aborted, and the call goes on.
  const canceller = createCanceller()
  const stop = (): void => canceller.abort(signal.reason)
  try {
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
    const wait = {
      name: 'media.fetch',
      ms: limits.firstByteMs,
      fix: 'Fetch faster, or raise limits.firstByteMs.',
      signal,
    }
    const media: unknown = await settleWithin(Promise.resolve(policy.fetch(new URL(url), canceller)), wait)
    if (!isFetched(media))
      throw new CallbackError(
        `media.fetch returned ${typeNameOf(media)}: return { bytes, mediaType }, with a Uint8Array`,
      )
    return { mediaType: media.mediaType, data: toBase64(media.bytes) }
  } catch (cause) {
    canceller.abort()
    if (cause instanceof CallbackError) logOncePerMinute(logger, 'modelgate: media.fetch failed', cause)
    const failure =
      cause instanceof GatewayError ? cause : new GatewayError('invalid_request', 'it could not be fetched', { cause })
    return { failure }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const isFetched = (value: unknown): value is FetchedMedia =>
  typeof value === 'object' &&
  value !== null &&
  (value as Partial<FetchedMedia>).bytes instanceof Uint8Array &&
  typeof (value as Partial<FetchedMedia>).mediaType === 'string'

/** Without what it is about, a question is another one: the client learns why it could not be had. */
function tellFailure({ message, cause }: GatewayError, at: string, fatal: Loss | undefined, { report }: Lane): void {
  if (fatal === undefined) {
    report.add(loss(at, `it was to be sent as data, but ${message}`))
    return
  }
  const param = paramOf(at)
  throw new GatewayError('invalid_request', `${param}: ${fatal.detail}, and as data neither: ${message}.`, {
    param,
    code: 'unsupported_parameter',
    cause,
  })
}

/**
 * Those of the addresses that the policy allows to be fetched: where it fails, or does not answer in time, it allows nothing. All
 * promises share one wait, since a request may name many addresses.
 */
export async function allowedUrls(
  texts: Iterable<string>,
  { policy, signal, logger, limits }: MediaFetching,
): Promise<ReadonlySet<string>> {
  const allowed = new Set<string>()
  const note = (text: string, answer: unknown): void => {
    if (decideNow(answer, logger, 'media.allows')) allowed.add(text)
  }
  const failed = (error: unknown): void =>
    logOncePerMinute(logger, 'modelgate: media.allows failed; what it was asked about is not fetched', error)
  const pending: Promise<unknown>[] = []
  for (const text of new Set(texts)) {
    if (!/^https?:/i.test(text) || !URL.canParse(text)) continue
    try {
      const answer: unknown = policy.allows(new URL(text))
      if (isThenable(answer)) pending.push(Promise.resolve(answer).then((late) => note(text, late), failed))
      else note(text, answer)
    } catch (error) {
      failed(error)
    }
  }
  if (pending.length === 0) return allowed
  try {
    await settleWithin<unknown>(Promise.all(pending), { name: 'media.allows', ms: limits.callbackMs, signal })
  } catch (error) {
    if (signal.aborted) throw error
    failed(error)
  }
  // A copy: an answer that comes later allows nothing any more.
  return new Set(allowed)
}
