import type { Limits } from '../config.ts'
import type { WireCodec } from '../formats/codec.ts'
import type { UpstreamFormat } from '../formats/ir.ts'
import { mayHoldSeals } from '../formats/shared/seals.ts'
import { lazily } from '../lazily.ts'
import type { ResolvedTarget } from '../router.ts'
import { redact } from '../upstream-error.ts'
import { formatsFor, speaks } from '../upstreams/formats-for.ts'
import type { Lane } from './lane.ts'
import { type RequestBody, wireLane } from './wire.ts'

/** What a lane is chosen by. */
export interface LaneChoice {
  /** The client's. */
  readonly codec: WireCodec
  readonly request: RequestBody
  readonly target: ResolvedTarget
  readonly limits: Required<Limits>
  /** Losses found after the headers left may be told in a comment. */
  readonly tellLosses: boolean
  /** See CodecContext. */
  readonly kept?: { readonly previous?: string } | undefined
}

/**
 * Same format: the wire. But a body that holds another vendor's seals is rewritten even then: its issuer must not be
 * impersonated, and the upstream would refuse it. Other formats: the upstream's first, unless that loses something and
 * another of its formats loses less. A promise only where something has to be loaded first.
 */
export function chooseLane(choice: LaneChoice): Lane | Promise<Lane> {
  const { codec, request, target, limits } = choice
  const { upstream, model } = target
  const own = speaks(upstream, codec.format, model)
  if (own && !mayHoldSeals(request.text))
    return wireLane(codec, request, { model, quirks: upstream.quirks }, limits.answerBytes, (text) =>
      redact(text, upstream),
    )
  return translated(choice, own ? [codec.format] : formatsFor(upstream, model))
}

// By itself: what a stream's lane refers to must not hold the request.
function translated(choice: LaneChoice, formats: readonly UpstreamFormat[]): Lane | Promise<Lane> {
  const leastLoss = translator()
  return leastLoss instanceof Promise ? leastLoss.then((loaded) => loaded(choice, formats)) : leastLoss(choice, formats)
}

/** What translates; loaded by the first call that is translated. */
export const translator = lazily(() => import('./least-loss.ts').then(({ leastLoss }) => leastLoss))
