import { GatewayError } from '../base/errors.ts'
import type { OnLoss } from '../config/identity.ts'
import type { TargetTraits, WireCodec } from '../formats/codec.ts'
import { isSharedCodec, wireCodecs } from '../formats/codec-registry.ts'
import { sealPrefix, sealPrefixBase64 } from '../formats/shared/seals.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { callUrl, formatsFor, speaks } from '../upstreams/outgoing-call.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { framedLane } from './framed-lane.ts'
import type { translate } from './generation-translation.ts'
import {
  type Generation,
  type Lane,
  mayNameMedia,
  type RequestWriter,
  type StoredState,
  type TargetRequest,
} from './lane.ts'
import { passThroughLane } from './pass-through.ts'

/**
 * Code of lanes that an edition of the gateway may leave out. Each function returns its code without a promise once it is loaded, and
 * rejects with a GatewayError if the edition does not have it.
 */
export interface LaneParts {
  /** The translation into other formats. */
  loadTranslation(): typeof translate | Promise<typeof translate>
  /** Streams that are not server-sent events. */
  loadFramedLane(): typeof framedLane | Promise<typeof framedLane>
}

/** Writes generation requests. */
export class GenerationWriter implements RequestWriter {
  readonly #generation: Generation
  readonly #parts: LaneParts

  constructor(generation: Generation, parts: LaneParts) {
    this.#generation = generation
    this.#parts = parts
  }

  /**
   * Passes the request through if the upstream speaks its format. A body that holds another vendor's seals is translated even then:
   * its issuer must not be impersonated, and the upstream would reject it. Otherwise the translation with the least loss is chosen.
   */
  write(target: ResolvedTarget, policy: OnLoss): TargetRequest | Promise<TargetRequest> {
    const { codec, request, media, stored, stream } = this.#generation
    const { upstream, model } = target
    const own = isSharedCodec(codec) && speaks(upstream, codec.format, model) ? codec : undefined
    if (stored !== undefined) checkStoredState(stored, target, own !== undefined)
    // A body that was read in outline holds no seals.
    const isSealed = request.outline === undefined && hasSealPrefix(request.text)
    let lane: Lane | Promise<Lane>
    if (own !== undefined && !isSealed && !(media?.policy.inline === 'always' && mayNameMedia(request))) {
      const hostedBody = isHostedAlike(own, upstream) ? own.hostedBody : undefined
      const traits = { model, quirks: upstream.quirks, hostedBody }
      const loading = own.prepareWireEdit?.(traits)
      lane =
        loading === undefined
          ? this.#passThrough(own, target, traits)
          : loading.then(() => this.#passThrough(own, target, traits))
    } else {
      const formats = own !== undefined ? [own.format] : formatsFor(upstream, model)
      const loading = this.#parts.loadTranslation()
      lane =
        loading instanceof Promise
          ? loading.then((translate) => translate(this.#generation, target, policy, formats))
          : loading(this.#generation, target, policy, formats)
    }
    return lane instanceof Promise
      ? lane.then((loaded) => generationRequest(loaded, target, stream))
      : generationRequest(lane, target, stream)
  }

  #passThrough(codec: WireCodec, { upstream }: ResolvedTarget, traits: TargetTraits): Lane | Promise<Lane> {
    const { request, client, limits, framing } = this.#generation
    const plain = passThroughLane(codec, request, traits, limits.answerBytes, redactorOf(upstream), client)
    const lane = traits.hostedBody === undefined ? plain : { ...plain, isHosted: true }
    if (framing === undefined) return lane
    const hostFraming = upstream.hosting?.[codec.format]?.framing
    const loading = this.#parts.loadFramedLane()
    return loading instanceof Promise
      ? loading.then((framed) => framed(lane, framing, hostFraming))
      : loading(lane, framing, hostFraming)
  }
}

/**
 * Returns whether the text of a body contains the prefix of a seal of another format. Such a body must not pass unchanged. The search
 * first looks for the ends of the prefixes, which begin with rare characters: this takes a tenth of the time.
 */
export const hasSealPrefix = (text: string): boolean =>
  (text.includes(sealPrefix.slice(-2)) && text.includes(`"${sealPrefix}`)) ||
  (text.includes(sealPrefixBase64.slice(-4)) && text.includes(`"${sealPrefixBase64}`))

/** Adds the endpoint of the lane's format at the target's upstream. */
export function generationRequest(lane: Lane, { upstream, model }: ResolvedTarget, stream: boolean): TargetRequest {
  const format = lane.upstreamFormat
  if (format === undefined) throw new TypeError('A generation lane requires a format')
  const codec = wireCodecs[format]
  const hosting = upstream.hosting?.[format]
  const ends = hosting?.modelInPath ?? codec.modelInPath
  const url = callUrl(upstream, upstream.formats[format] as string, stream ? ends?.stream : ends?.whole, model)
  // A body that is already in the host's form keeps every byte.
  if (lane.isHosted !== true || hosting === undefined) {
    const request = { lane, url, codec, hosting }
    return stream && upstream.webSockets?.includes(format) === true ? { ...request, webSocket: true } : request
  }
  const { edit: _, editHosted, ...others } = hosting
  return { lane, url, codec, hosting: editHosted === undefined ? others : { ...others, edit: editHosted } }
}

/** Returns whether a client's bodies have the form that the upstream's host reads, in place of their vendor's own. */
const isHostedAlike = ({ hostedBody, format }: WireCodec, { hosting }: Upstream): boolean =>
  hostedBody !== undefined && hostedBody === hosting?.[format]?.body

/** Throws a GatewayError for a target that must not get the request's references to stored state. `isOwn`: it speaks the client's format. */
export function checkStoredState(
  { onlyUpstream, holder, unknown, notOwned }: StoredState,
  target: ResolvedTarget,
  isOwn: boolean,
) {
  if (onlyUpstream !== undefined && target.upstreamName !== onlyUpstream)
    throw new GatewayError(
      'invalid_request',
      'The previous response is stored at another upstream than that of this model.',
      { param: 'previous_response_id', code: 'previous_response_not_found' },
    )
  if (holder !== undefined && target.upstreamName !== holder.upstream) throw holder.refusal
  const refused = isOwn ? notOwned : unknown
  if (refused !== undefined) throw refused
}
