import type { CallRecord } from '../accounting/call-record.ts'
import { newId } from '../base/bytes.ts'
import { decideNow } from '../base/callbacks.ts'
import type { Feature, Logger, RequestTraits } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import type { ClientCodec } from '../formats/codec.ts'
import type { ModelRequest, Part } from '../formats/ir.ts'
import { createReport } from '../formats/loss-report.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Condition, ResolvedTarget } from './router.ts'

/** The parts of a call by which its target is chosen. */
export interface RoutingInput {
  /** The client's format, for chat generation. */
  readonly codec?: ClientCodec | undefined
  readonly request: RequestBody
  readonly inbound: Inbound
  readonly record: CallRecord
}

/** Creates the traits that a target's `when` receives. The request is decoded only if `uses` is called. */
export function createRequestTraits({ codec, request, inbound, record }: RoutingInput): RequestTraits {
  const { model, operation, format, stream } = record
  let used: ReadonlySet<Feature> | undefined
  return {
    model,
    operation,
    format,
    stream,
    identity: record.identity as Identity | null,
    body: request.value,
    bodyChars: request.text.length,
    header: (name) => inbound.header(name),
    uses(feature) {
      if (feature === 'stream') return stream
      used ??= codec === undefined ? new Set() : featuresIn(codec, request)
      return used.has(feature)
    },
  }
}

/** Returns the features that a body uses. The body is not validated yet: a body that cannot be decoded uses none. */
function featuresIn(codec: ClientCodec, { value }: RequestBody): ReadonlySet<Feature> {
  try {
    const context = { report: createReport(value), newId, now: () => Math.floor(Date.now() / 1000) }
    return featuresOf(codec.decodeRequest(value, context))
  } catch {
    return new Set()
  }
}

function featuresOf({ turns, tools, output, reasoning }: ModelRequest): ReadonlySet<Feature> {
  const used = new Set<Feature>()
  if (tools !== undefined && tools.list.length > 0) used.add('tools')
  if (output?.format?.type === 'json') used.add('json')
  for (const modality of output?.modalities ?? []) {
    if (modality === 'audio') used.add('audio')
    if (modality === 'image') used.add('images')
  }
  if (reasoning !== undefined && reasoning.off !== true && reasoning.effort !== 'none') used.add('reasoning')
  const addFeatures = (parts: readonly Part[]): void => {
    for (const part of parts) {
      // The target must also understand earlier tool calls, even if the request offers no tools any more.
      if (part.type === 'tool-call' || part.type === 'tool-result') used.add('tools')
      if (part.type === 'tool-result') addFeatures(part.parts)
      if (part.type !== 'media') continue
      if (part.kind === 'image') used.add('images')
      if (part.kind === 'audio') used.add('audio')
      if (part.kind === 'video') used.add('video')
      if (part.kind === 'document') used.add('documents')
    }
  }
  for (const { parts } of turns) addFeatures(parts)
  return used
}

/** Returns the targets whose conditions match a request. */
export function matchingTargets(
  input: RoutingInput,
  targets: readonly ResolvedTarget[],
  logger: Logger,
): readonly ResolvedTarget[] {
  let traits: RequestTraits | undefined
  const traitsOfCall = (): RequestTraits => {
    traits ??= createRequestTraits(input)
    return traits
  }
  return targets.filter((target) => matchesWhen(target, traitsOfCall, logger))
}

/**
 * Returns whether a target accepts a request by its `when`, except for `'fits'`. A function accepts a request only by returning `true`: if
 * it throws or returns a promise, the target is skipped.
 */
export function matchesWhen(
  { when, upstreamName }: Pick<ResolvedTarget, 'when' | 'upstreamName'>,
  traits: () => RequestTraits,
  logger: Logger,
): boolean {
  return when === undefined || when.some((condition) => meets(condition, traits, upstreamName, logger))
}

function meets(condition: Condition, traits: () => RequestTraits, upstreamName: string, logger: Logger): boolean {
  if (typeof condition !== 'function') return traits().uses(condition)
  try {
    const result: unknown = condition(traits())
    if (typeof result === 'boolean') return result
    return decideNow(result, logger, `\`when\` of a target at upstream '${upstreamName}'`)
  } catch (error) {
    logger.warn(`modelgate: \`when\` of a target at upstream '${upstreamName}' failed; the target is skipped`, error)
    return false
  }
}
