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
export type RequestEdit = (model: ModelRequest) => void

/** A fetched file in base64, since every target gets it so, or the failure of the fetch. */
type FetchResult = { readonly mediaType: string; readonly data: string } | { readonly failure: GatewayError }
type MediaByUrl = MediaPart & { source: { type: 'url'; url: string } }

/** Fetched files by request: further targets of a call do not fetch them again. */
const fetched = new WeakMap<RequestBody, Map<string, Promise<FetchResult>>>()

/**
 * Returns the translation in which media that the target does not accept by URL are sent as data, if the policy allows the fetch. A failed
 * fetch leaves the URL, and is reported with the reason. Throws GatewayError beyond the policy's limits.
 *
 * @param translate creates the lane, with an edit of the decoded request
 */
export async function translateWithMedia(
  request: RequestBody,
  media: MediaFetching,
  translate: (edit: RequestEdit) => Lane,
): Promise<Lane> {
  const { policy } = media
  let addressed: readonly MediaByUrl[] = []
  const plain = translate((model) => {
    addressed = [...mediaByUrl(model)]
  })
  if (addressed.length === 0) return plain
  const urls = addressed.map(({ source }) => source.url)
  const allowed = await allowedUrls(urls, media)
  const parts = addressed.filter((_, at) => allowed.has(urls[at] as string))
  if (parts.length === 0) return plain
  const wanted = policy.inline === 'always' ? parts : parts.filter(losesLessAsData(translate, plain))
  if (wanted.length === 0) return plain
  const wantedUrls = new Set(wanted.map(({ source }) => source.url))
  // Every part with such a URL gets its own copy of the bytes.
  const sent = parts.filter(({ source }) => wantedUrls.has(source.url))
  const found = await fetchAll(sent, request, media)
  const lane = translate((model) => {
    for (const part of mediaByUrl(model)) {
      const one = found.get(part.source.url)
      if (one !== undefined && !('failure' in one)) replaceByData(part, one.mediaType, one.data)
    }
  })
  const fatal = new Map<string, Loss>()
  for (const lost of lane.report.losses)
    if (lost.severity === 'fatal' && !fatal.has(lost.path)) fatal.set(lost.path, lost)
  for (const { source, at = '' } of sent) {
    const one = found.get(source.url)
    if (one === undefined) continue
    if ('failure' in one) reportFailure(one.failure, at, fatal.get(at), lane)
    else lane.report.add(loss(at, 'the file was fetched and sent as data', 'moved', 'note'))
  }
  return lane
}

/** Yields every media part with a URL, tool results included. */
function* mediaByUrl(model: ModelRequest): Generator<MediaByUrl> {
  for (const { parts } of model.turns) yield* mediaByUrlIn(parts)
}
function* mediaByUrlIn(parts: readonly Part[]): Generator<MediaByUrl> {
  for (const part of parts)
    if (part.type === 'tool-result') yield* mediaByUrlIn(part.parts)
    else if (part.type === 'media' && part.source.type === 'url') yield part as MediaByUrl
}

/** The most common media type of each kind. */
const likely: Readonly<Record<MediaPart['kind'], string>> = {
  image: 'image/png',
  audio: 'audio/mpeg',
  video: 'video/mp4',
  document: 'application/pdf',
}

/** Returns a function that checks whether a part loses less if it is sent as data. Tried with dummy bytes. */
function losesLessAsData(translate: (edit: RequestEdit) => Lane, plain: Lane): (part: MediaByUrl) => boolean {
  const trial = translate((model) => {
    for (const part of mediaByUrl(model)) replaceByData(part, part.mediaType ?? likely[part.kind], 'AAAA')
  })
  // Summed up once: there may be as many losses as parts.
  const before = lossWeights(plain)
  const after = lossWeights(trial)
  return ({ at = '' }) => (after.get(at) ?? 0) < (before.get(at) ?? 0)
}

const weights: Readonly<Record<Loss['severity'], number>> = { fatal: 1e6, warn: 1000, note: 1 }

/** Sums up the weights of losses by their path in the client's body. */
function lossWeights({ report }: Lane): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { path, severity } of report.losses) sums.set(path, (sums.get(path) ?? 0) + weights[severity])
  return sums
}

function replaceByData(part: MediaPart, mediaType: string, data: string): void {
  // Documents need a name: the last part of the URL.
  const { source } = part
  if (part.kind === 'document' && part.name === undefined && source.type === 'url') {
    const name = new URL(source.url).pathname.split('/').at(-1)
    if (name !== undefined && name !== '') part.name = name
  }
  part.source = { type: 'base64', data }
  part.mediaType = mediaType
}

const parallelFetches = 4
/** Files of one call if the policy sets no limit. The default for bytes is that of request bodies. */
const defaultCount = 20

/**
 * Fetches each URL once. Both limits count what is sent, before it is copied: two parts with the same URL count twice.
 */
async function fetchAll(
  parts: readonly MediaByUrl[],
  request: RequestBody,
  media: MediaFetching,
): Promise<ReadonlyMap<string, FetchResult>> {
  const { maxCount = defaultCount, maxTotalBytes = media.maxTotalBytes } = media.policy
  if (parts.length > maxCount)
    throw tooMuch(
      parts[maxCount],
      `The request contains ${parts.length} file URLs that must be fetched and sent as data; at most ${maxCount} are allowed.`,
    )
  const known = fetched.get(request) ?? new Map<string, Promise<FetchResult>>()
  fetched.set(request, known)
  const found = new Map<string, FetchResult>()
  const uses = new Map<string, MediaByUrl[]>()
  for (const part of parts) {
    const same = uses.get(part.source.url)
    if (same === undefined) uses.set(part.source.url, [part])
    else same.push(part)
  }
  const all = [...uses]
  let bytes = 0
  // A few at a time: files beyond the limit must not be in memory first.
  for (let at = 0; at < all.length; at += parallelFetches) {
    const some = all.slice(at, at + parallelFetches)
    for (const [url] of some) if (!known.has(url)) known.set(url, fetchMedia(url, media))
    let largest: MediaByUrl | undefined
    for (const [url, same] of some) {
      const one = await (known.get(url) as Promise<FetchResult>)
      found.set(url, one)
      if (!('data' in one)) continue
      bytes += base64Bytes(one.data) * same.length
      if (bytes > maxTotalBytes) largest ??= same[0]
    }
    if (largest !== undefined)
      throw tooMuch(
        largest,
        `The files that the request names by URL exceed ${maxTotalBytes} bytes in total; a file counts once for each part that names it.`,
      )
  }
  return found
}

/** Returns the number of bytes: four base64 characters hold three, less one for each `=`. */
function base64Bytes(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return (data.length / 4) * 3 - padding
}

function tooMuch(part: MediaByUrl | undefined, message: string): GatewayError {
  return new GatewayError('invalid_request', message, part?.at === undefined ? {} : { param: paramOf(part.at) })
}

const paramOf = (at: string): string => at.slice(1).replaceAll('/', '.')

/** Fetches a file. Never rejects. */
async function fetchMedia(url: string, { policy, signal, logger, limits }: MediaFetching): Promise<FetchResult> {
  // A signal of its own: a fetch that times out is aborted, and the call continues.
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
      cause instanceof GatewayError
        ? cause
        : new GatewayError('invalid_request', 'the file could not be fetched', { cause })
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

/** Reports a failed fetch. Rejects the request if the part would be lost: a question without its image is another question. */
function reportFailure({ message, cause }: GatewayError, at: string, fatal: Loss | undefined, { report }: Lane): void {
  if (fatal === undefined) {
    report.add(loss(at, `the file could not be sent as data: ${message}`))
    return
  }
  const param = paramOf(at)
  throw new GatewayError(
    'invalid_request',
    `${param}: ${fatal.detail}, and it could not be sent as data: ${message}.`,
    {
      param,
      code: 'unsupported_parameter',
      cause,
    },
  )
}

/**
 * Returns the URLs that the policy allows to fetch. A policy that fails or times out allows nothing. All promises share one timeout, since a
 * request may contain many URLs.
 */
async function allowedUrls(
  texts: Iterable<string>,
  { policy, signal, logger, limits }: MediaFetching,
): Promise<ReadonlySet<string>> {
  const allowed = new Set<string>()
  const note = (text: string, answer: unknown): void => {
    if (decideNow(answer, logger, 'media.allows')) allowed.add(text)
  }
  const failed = (error: unknown): void =>
    logOncePerMinute(logger, 'modelgate: media.allows failed; the URL is not fetched', error)
  const pending: Promise<unknown>[] = []
  for (const text of new Set(texts)) {
    if (!/^https?:/i.test(text) || !URL.canParse(text)) continue
    try {
      const answer: unknown = policy.allows(new URL(text))
      if (isThenable(answer)) pending.push(Promise.resolve(answer).then((resolved) => note(text, resolved), failed))
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
  // A copy: a decision that arrives later has no effect.
  return new Set(allowed)
}
