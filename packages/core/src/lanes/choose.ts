import type { Limits } from '../config.ts'
import { GatewayError } from '../errors.ts'
import type { Codec } from '../formats/codec.ts'
import { codecOf } from '../formats/index.ts'
import type { UpstreamFormat } from '../formats/ir.ts'
import { mayHoldSeals } from '../formats/shared/seals.ts'
import { newId } from '../ids.ts'
import type { ResolvedTarget } from '../router.ts'
import { redact, toClientError } from '../upstream-error.ts'
import { formatsFor, speaks } from '../upstreams/formats-for.ts'
import type { Lane } from './lane.ts'
import { translateLane } from './translate.ts'
import { type RequestBody, wireLane } from './wire.ts'

/** What a lane is chosen by. */
export interface LaneChoice {
  /** The client's. */
  readonly codec: Codec
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
 * another of its formats loses less.
 */
export function chooseLane(choice: LaneChoice): Lane {
  const { codec, request, target, limits } = choice
  const { upstream, model } = target
  if (!speaks(upstream, codec.format, model)) return leastLoss(choice)
  if (mayHoldSeals(request.text)) return translate(choice, codec.format)
  return wireLane(codec, request, { model, quirks: upstream.quirks }, limits.answerBytes, (text) =>
    redact(text, upstream),
  )
}

/** The translation that loses least. Throws what speaks against the upstream's first format, where none will do. */
export function leastLoss(choice: LaneChoice): Lane {
  let best: Lane | undefined
  let failure: unknown
  for (const format of formatsFor(choice.target.upstream, choice.target.model)) {
    let lane: Lane
    try {
      lane = translate(choice, format)
    } catch (error) {
      failure ??= error
      continue
    }
    if (best === undefined || weightOf(lane) < weightOf(best)) best = lane
    if (weightOf(best) === 0) break
  }
  if (best === undefined) throw failure ?? noChat()
  return best
}

const noChat = (): GatewayError =>
  new GatewayError('invalid_request', 'The model asked for does not chat: its upstream offers other operations only.', {
    param: 'model',
  })

/** One fatal loss outweighs any number of others; notes weigh nothing. */
function weightOf({ report }: Lane): number {
  let weight = 0
  for (const { severity } of report.losses) weight += severity === 'fatal' ? 1e6 : severity === 'warn' ? 1 : 0
  return weight
}

function translate({ codec, request, target, limits, tellLosses, kept }: LaneChoice, format: UpstreamFormat): Lane {
  const { upstream, model } = target
  return translateLane({
    client: codec,
    upstream: codecOf(format),
    request,
    target: { model, quirks: upstream.quirks },
    newId,
    now: () => Math.floor(Date.now() / 1000),
    maxEventChars: limits.answerBytes,
    maxDepth: 1000,
    clean: (error) => toClientError(error, error.status, upstream).info,
    tellLosses,
    ...(kept === undefined ? {} : { kept }),
  })
}
