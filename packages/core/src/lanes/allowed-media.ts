import { isThenable, type Signal } from '../base/async.ts'
import { decideNow, logOncePerMinute, settleWithin } from '../base/callbacks.ts'
import type { Limits, Logger } from '../config/config.ts'
import type { MediaPolicy } from '../config/media-policy.ts'

/** What a call's media may be fetched with. */
export interface MediaFetching {
  readonly policy: MediaPolicy
  /** Most bytes of media in one call's request to an upstream, where the policy does not say. */
  readonly maxTotalBytes: number
  /** The call's: the client's leaving ends what is being fetched. */
  readonly signal: Signal
  readonly logger: Logger
  readonly limits: Pick<Required<Limits>, 'callbackMs' | 'firstByteMs'>
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
