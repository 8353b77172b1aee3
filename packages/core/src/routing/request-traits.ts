import type { CallRecord } from '../accounting/call-record.ts'
import { newId } from '../base/bytes.ts'
import { decideNow } from '../base/callbacks.ts'
import type { Feature, Logger, RequestTraits } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import type { Codec } from '../formats/codec.ts'
import type { ModelRequest, Part } from '../formats/ir.ts'
import { createReport } from '../formats/loss-report.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound } from '../http/inbound.ts'
import type { ResolvedTarget } from './router.ts'

/** What a call's target is chosen by. */
export interface RoutingInput {
  /** The client's format, for chat generation. */
  readonly codec?: Codec | undefined
  readonly request: RequestBody
  readonly inbound: Inbound
  readonly record: CallRecord
}

/** What a target's `when` may look at. The request is read only when somebody asks what it uses. */
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

/** A body of which little has been checked yet. What the decoder cannot read uses nothing that a target could be chosen by. */
function featuresIn(codec: Codec, { value }: RequestBody): ReadonlySet<Feature> {
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
  const look = (parts: readonly Part[]): void => {
    for (const part of parts) {
      // Earlier calls have to be understood, too, though no tool is offered any more.
      if (part.type === 'tool-call' || part.type === 'tool-result') used.add('tools')
      if (part.type === 'tool-result') look(part.parts)
      if (part.type !== 'media') continue
      if (part.kind === 'image') used.add('images')
      if (part.kind === 'audio') used.add('audio')
      if (part.kind === 'video') used.add('video')
      if (part.kind === 'document') used.add('documents')
    }
  }
  for (const { parts } of turns) look(parts)
  return used
}

/**
 * Whether a target is meant for a request. A function that throws has met a request that it did not expect: its target is not
 * meant for that. Neither is one whose function returns anything but `true`, a promise of it included.
 */
export function matchesWhen(
  { when, upstreamName }: Pick<ResolvedTarget, 'when' | 'upstreamName'>,
  traits: () => RequestTraits,
  logger: Logger,
): boolean {
  if (when === undefined) return true
  if (typeof when === 'function')
    try {
      const answer: unknown = when(traits())
      if (typeof answer === 'boolean') return answer
      return decideNow(answer, logger, `\`when\` of a target at upstream '${upstreamName}'`)
    } catch (error) {
      logger.warn(`modelgate: \`when\` of a target at upstream '${upstreamName}' failed; the target is skipped`, error)
      return false
    }
  return (typeof when === 'string' ? [when] : when).some((feature) => traits().uses(feature))
}
