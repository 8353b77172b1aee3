import { lazy } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { OnLoss } from '../config/identity.ts'
import type { TargetTraits, WireCodec } from '../formats/codec.ts'
import { isSharedCodec, wireCodecs } from '../formats/codec-registry.ts'
import { sealPrefix, sealPrefixBase64 } from '../formats/shared/seals.ts'
import type { FrameFraming, Framing } from '../http/framing/framing.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { callUrl, formatsFor, speaks } from '../upstreams/outgoing-call.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { OpenFrameStream } from './frame-stream.ts'
import type { framedStream } from './framed-stream.ts'
import {
  type Generation,
  type Lane,
  mayNameMedia,
  type RequestWriter,
  type StoredState,
  type TargetRequest,
} from './lane.ts'
import { type PassThroughLane, passThroughLane } from './pass-through.ts'

/** Writes generation requests. */
export class GenerationWriter implements RequestWriter {
  readonly #generation: Generation

  constructor(generation: Generation) {
    this.#generation = generation
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
      const loading = translator()
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
    if (!hasFrames(framing) || framing.name !== upstream.hosting?.[codec.format]?.framing) {
      const loading = framedStreams()
      return loading instanceof Promise
        ? loading.then((open) => framedLane(lane, framing, open))
        : framedLane(lane, framing, loading)
    }
    const loading = frameStreams()
    return loading instanceof Promise
      ? loading.then((open) => frameLane(lane, framing, open))
      : frameLane(lane, framing, loading)
  }
}

/** Loads the pass-through of binary frames, with the first call that needs it. */
const frameStreams = lazy(() => import('./frame-stream.ts').then(({ frameStream }) => frameStream))

/** The same for other framings than server-sent events. */
const framedStreams = lazy(() => import('./framed-stream.ts').then(({ framedStream }) => framedStream))

const framedLane = (lane: PassThroughLane, framing: Framing, open: typeof framedStream): Lane => ({
  ...lane,
  openStream: () => open(lane.openStream(), framing),
})

const hasFrames = (framing: Framing): framing is FrameFraming => 'read' in framing

const frameLane = (lane: PassThroughLane, framing: FrameFraming, open: OpenFrameStream): Lane => ({
  ...lane,
  readsFrames: true,
  openStream: () => lane.openWith((options) => open({ ...options, framing })),
})

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

/** Loads the translation of generation requests, with the first call that needs it. */
export const translator = lazy(() => import('./generation-translation.ts').then(({ translate }) => translate))

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
