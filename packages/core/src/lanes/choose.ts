import { lazy } from '../base/lazy.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { TargetTraits } from '../formats/codec.ts'
import { hasSealPrefix } from '../formats/shared/seals.ts'
import { formatsFor, speaks } from '../upstreams/outgoing-call.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import type { Lane } from './lane.ts'
import { type LaneChoice, mayNameMedia } from './lane-choice.ts'
import { wireLane } from './wire.ts'

/**
 * Same format: the wire. But a body that holds another vendor's seals is rewritten even then: its issuer must not be
 * impersonated, and the upstream would refuse it. Other formats: the upstream's first, unless that loses something and
 * another of its formats loses less. A promise only where something has to be loaded first.
 */
export function chooseLane(choice: LaneChoice): Lane | Promise<Lane> {
  const { codec, request, target } = choice
  const { upstream, model } = target
  const own = speaks(upstream, codec.format, model)
  // No body that was read in outline holds any.
  const sealed = request.outline === undefined && hasSealPrefix(request.text)
  if (own && !sealed && !(choice.media?.policy.inline === 'always' && mayNameMedia(request))) {
    const traits = { model, quirks: upstream.quirks }
    const loading = codec.wireReady?.(traits)
    return loading === undefined ? onTheWire(choice, traits) : loading.then(() => onTheWire(choice, traits))
  }
  return translated(choice, own ? [codec.format] : formatsFor(upstream, model))
}

// By themselves: what a stream's lane refers to must not hold the request.
function onTheWire({ codec, request, client, target: { upstream }, limits }: LaneChoice, traits: TargetTraits): Lane {
  return wireLane(codec, request, traits, limits.answerBytes, redactorOf(upstream), client)
}

function translated(choice: LaneChoice, formats: readonly UpstreamFormat[]): Lane | Promise<Lane> {
  const leastLoss = translator()
  return leastLoss instanceof Promise ? leastLoss.then((loaded) => loaded(choice, formats)) : leastLoss(choice, formats)
}

/** What translates; loaded by the first call that is translated. */
export const translator = lazy(() => import('./least-loss.ts').then(({ leastLoss }) => leastLoss))
