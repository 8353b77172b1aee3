import { lazy } from '../base/async.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { BodyChanges, MarkedCall } from '../formats/cache-marks/conversation.ts'
import { wireCodecs } from '../formats/codec-registry.ts'
import { requestedTier } from '../formats/shared/billed.ts'
import type { Lane, TargetRequest } from '../lanes/lane.ts'
import { cacheAffinity, conversationId } from '../routing/affinity.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import type { CacheChanges, PreparingCall } from './call.ts'

const noEdits: Pick<ResolvedTarget, 'defaults' | 'overrides' | 'cache'> = {}

const loadBodyEditor = lazy(async () => (await import('../upstreams/request-body-edits.ts')).editRequestBody)

type BodyEditor = Awaited<ReturnType<typeof loadBodyEditor>>

/**
 * Applies a target's `defaults`, `overrides` and `cache`, and its host's edit, to a JSON body. Uploads pass unchanged. Returns a promise
 * only for the first request with such a change, and for the first one with `cache`.
 */
export function editRequest(
  call: PreparingCall,
  target: ResolvedTarget,
  request: TargetRequest,
): TargetRequest | Promise<TargetRequest> {
  const { lane, hosting } = request
  const { defaults, overrides, cache } = request.ignoresOverrides === true ? noEdits : target
  const cachedFormat = cache === 'auto' && call.codec !== undefined ? lane.upstreamFormat : undefined
  if (defaults === undefined && overrides === undefined && cachedFormat === undefined && hosting?.edit === undefined)
    return request
  const { body, report } = lane
  if (!(typeof body === 'string' || body instanceof Uint8Array)) return request
  const edit = (editBody: BodyEditor, mark?: (body: JsonObject) => BodyChanges | undefined): TargetRequest => {
    const edited = editBody(body, { defaults, overrides, mark }, hosting, {
      model: target.model,
      stream: call.record.stream,
      header: (name) => call.inbound.header(name),
      replaced: (field) =>
        report.add({
          path: `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`,
          kind: 'approximated',
          severity: 'note',
          detail: `${field} is set by the configuration of the model's target`,
        }),
      lost: (loss) => report.add(loss),
    })
    if (edited === body) return request
    const tier = tierAfter(lane, { defaults, overrides })
    return { ...request, lane: { ...lane, body: edited, tier }, clientBody: body }
  }
  const editBody = loadBodyEditor()
  if (cachedFormat === undefined)
    return editBody instanceof Promise ? editBody.then((loaded) => edit(loaded)) : edit(editBody)
  const editWith = (loaded: BodyEditor, changesFor: CacheChanges): TargetRequest =>
    edit(loaded, (value) => changesFor(cachedFormat, markedCall(call, target, value)))
  const changesFor = call.shared.parts.loadCacheChanges()
  return editBody instanceof Promise || changesFor instanceof Promise
    ? Promise.all([editBody, changesFor]).then(([loaded, changes]) => editWith(loaded, changes))
    : editWith(editBody, changesFor)
}

/** Returns the tier that a body asks for with the target's `defaults` and `overrides`. */
function tierAfter(
  { tier, upstreamFormat }: Lane,
  { defaults, overrides }: Pick<ResolvedTarget, 'defaults' | 'overrides'>,
): string | undefined {
  const fields = upstreamFormat === undefined ? undefined : wireCodecs[upstreamFormat].tierFields
  if (fields === undefined) return tier
  const isReplaced = fields.some((path) => overrides?.[path.split('.')[0] ?? ''] !== undefined)
  return isReplaced ? requestedTier(overrides ?? {}, fields) : (tier ?? requestedTier(defaults ?? {}, fields))
}

function markedCall(
  { codec, request, record, inbound }: PreparingCall,
  target: ResolvedTarget,
  body: JsonObject,
): MarkedCall {
  const affinity = cacheAffinity(codec, request.fields, (name) => inbound.header(name))
  return {
    body,
    model: target.model,
    lacks: target.upstream.quirks.lacks ?? {},
    conversation: affinity === undefined ? undefined : conversationId(record.identity, affinity),
  }
}
