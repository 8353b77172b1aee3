import { GatewayError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { Codec, UpstreamCodec } from '../formats/codec.ts'
import { loadCodec, loadFullCodec } from '../formats/codec-registry.ts'
import { findModelRule } from '../formats/shared/model-rules.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import { toClientError } from '../upstreams/upstream-error.ts'
import { checkMedia } from './check-media.ts'
import type { Edit } from './inline-media.ts'
import type { Lane } from './lane.ts'
import { type LaneChoice, mayNameMedia } from './lane-choice.ts'
import { translateLane } from './translate.ts'

/**
 * The translation that loses least. Throws what speaks against the upstream's first format, where none will do. A promise only
 * where a codec has to be loaded first.
 *
 * @param formats those to choose from, best first
 */
export function leastLoss(choice: LaneChoice, formats: readonly UpstreamFormat[]): Lane | Promise<Lane> {
  let best: Lane | undefined
  let bestCodec: UpstreamCodec | undefined
  let failure: unknown
  const client = loadFullCodec(choice.codec)
  // Until here only what every request needs has been checked (docs/decisions/0031).
  if (!(client instanceof Promise)) client.validateRequest(choice.request.value)
  for (const format of formats) {
    const upstream = loadCodec(format)
    if (client instanceof Promise || upstream instanceof Promise)
      return Promise.all([client, upstream]).then(() => leastLoss(choice, formats))
    let lane: Lane
    try {
      lane = translate(choice, client, upstream)
    } catch (error) {
      failure ??= error
      continue
    }
    if (best === undefined || weightOf(lane) < weightOf(best)) {
      best = lane
      bestCodec = upstream
    }
    if (weightOf(best) === 0) break
  }
  if (best === undefined || bestCodec === undefined) throw failure ?? noChat()
  const { media, request } = choice
  if (media === undefined || client instanceof Promise || !mayNameMedia(request)) return best
  const upstream = bestCodec
  return import('./inline-media.ts').then(({ withMedia }) =>
    withMedia(request, media, (edit) => translate(choice, client, upstream, edit)),
  )
}

const noChat = (): GatewayError =>
  new GatewayError('invalid_request', 'The model asked for does not chat: its upstream offers other operations only.', {
    param: 'model',
  })

/** One fatal loss outweighs a restricted format, and this any number of warnings; notes weigh nothing. */
function weightOf({ report, restricted }: Lane): number {
  let weight = restricted === true ? 1e6 : 0
  for (const { severity } of report.losses) weight += severity === 'fatal' ? 1e9 : severity === 'warn' ? 1 : 0
  return weight
}

function translate(
  { request, client: clientQuirks, target, limits, tellLosses, kept, references }: LaneChoice,
  client: Codec,
  upstream: UpstreamCodec,
  edit?: Edit,
): Lane {
  const { upstream: place, model } = target
  return translateLane({
    client,
    upstream,
    request,
    target: { model, quirks: place.quirks, modelRule: findModelRule(place.modelRules, model) },
    newId,
    now: () => Math.floor(Date.now() / 1000),
    maxEventChars: limits.answerBytes,
    maxDepth: 1000,
    clean: (error) => toClientError(error, error.status, place).info,
    redactor: redactorOf(place),
    tellLosses,
    edit(model) {
      edit?.(model)
      checkMedia(model, references)
    },
    ...(kept === undefined ? {} : { kept }),
    clientQuirks,
  })
}
