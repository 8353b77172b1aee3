import { GatewayError } from '../../../base/errors.ts'
import { spliceJson } from '../../../base/json/edit.ts'
import { admitCall } from '../../../calls/admission.ts'
import { admitEarly } from '../../../calls/admit-early.ts'
import { notifyRequest } from '../../../calls/plugin-hooks.ts'
import { admissionHeaders, idHeaders, notCached } from '../../../calls/reply.ts'
import { recordRequest } from '../../../calls/try-targets.ts'
import { complain } from '../../../formats/chat/validate.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import * as z from '../../../formats/shared/body-schema.ts'
import { bodyCheck } from '../../../formats/shared/validate.ts'
import type { Reply } from '../../../http/inbound.ts'
import type { ResolvedTarget } from '../../../routing/router.ts'
import { redactorOf } from '../../../upstreams/redaction/redactor.ts'
import { notFound, upstreamOf } from '../../objects/find-object.ts'
import { type ObjectUpstream, requestRaw } from '../../objects/send.ts'
import type { Handler, RoutedCall } from '../../route.ts'
import { realtimePlaces } from '../messages.ts'
import { type CallControl, callControl, type FoundCall, findCall, recordOwner, targetOf } from './call-control.ts'
import { checkSessionType } from './offer.ts'

const noBody: RequestBody = { bytes: new Uint8Array(0), text: '', members: [], value: {}, fields: {} }

const checks = {
  accept: bodyCheck(z.looseObject({ model: z.string().min(1) }), complain),
  refer: bodyCheck(z.looseObject({ target_uri: z.string().min(1) }), complain),
  reject: bodyCheck(z.looseObject({ status_code: z.number().int().nullish() }), complain),
} as const

/** Hangs up, rejects or transfers a call. */
export const handleControlCall: Handler = async (call) => {
  const action = actionOf(call)
  const request = action === 'hangup' || !hasBody(call) ? noBody : await call.readBody(checks[action])
  // Without a body, the destination would be missing.
  if (action === 'refer' && request === noBody) checks.refer({})
  const { control, found } = await begin(call, request)
  // A transfer can cost money. Without authentication, all callers are one, and may end any call.
  const needsOwner = action === 'refer' || (action === 'hangup' && call.record.identity !== null)
  if (needsOwner && found.own === undefined) throw notFound(control.kind, call.params.id ?? '')
  return send(call, targetOf(control, found), request === noBody ? undefined : request.bytes)
}

/** Accepts an incoming phone call with a session, which names its model. From then on the call belongs to this caller. */
export const handleAcceptCall: Handler = async (call) => {
  const { shared, record, snapshot, params } = call
  const request = await call.readBody(checks.accept)
  checkSessionType(request.value, 'type')
  record.model = String(request.value.model)
  record.uncounted = true
  await admitEarly({ ...call, request, modelPlaces: realtimePlaces })
  const control = await callControl(call)
  const id = params.id ?? ''
  const own = await findCall(control, id)
  const { targets } = shared.router.plan(record.model, record.identity)
  const { target, upstream } = chooseTarget(control, own, targets)
  await snapshot.checkReferences('realtime-sessions', request, record.identity)
  record.upstream = target.upstreamName
  record.upstreamModel = target.model
  record.lane = 'wire'
  const body = spliceJson(request.text, request.members, { model: target.model })
  const reply = await send(call, upstream, body)
  record.firstEventAt = performance.now()
  try {
    await recordOwner(control, upstream.name, id)
  } catch (error) {
    // The call continues without an owner, and ends when the phone hangs up.
    shared.logger.warn(`modelgate: the owner of the call of request ${record.requestId} could not be stored`, error)
  }
  return reply
}

/** Returns the target for a call: that of its upstream, or the first one whose upstream has calls. */
function chooseTarget(
  control: CallControl,
  { own }: FoundCall,
  targets: readonly ResolvedTarget[],
): { readonly target: ResolvedTarget; readonly upstream: ObjectUpstream } {
  const { config } = control.call.snapshot
  const preferred = own === undefined ? config.objects?.upstreams : [own.name]
  const able = targets.flatMap((target) => {
    const upstream = upstreamOf(control, target.upstreamName)
    return upstream === undefined ? [] : [{ target, upstream }]
  })
  const chosen =
    preferred === undefined
      ? able[0]
      : preferred.flatMap((name) => able.find(({ upstream }) => upstream.name === name) ?? [])[0]
  if (chosen !== undefined) return chosen
  const { model } = control.call.record
  throw new GatewayError(
    'invalid_request',
    `The upstreams of the model '${model.slice(0, 100)}' cannot accept this call. Choose a model of the provider that received it.`,
    { param: 'model' },
  )
}

/** Admits a request about a call. An unknown id costs no upstream call. */
async function begin(
  call: RoutedCall,
  request: RequestBody,
): Promise<{ readonly control: CallControl; readonly found: FoundCall }> {
  const { shared, record, inbound, signal, params } = call
  const admitted = { shared, record, inbound, signal, request }
  recordRequest(admitted)
  notifyRequest(admitted)
  await admitCall(admitted, [])
  const control = await callControl(call)
  return { control, found: await findCall(control, params.id ?? '') }
}

async function send(call: RoutedCall, upstream: ObjectUpstream, body: string | Uint8Array | undefined): Promise<Reply> {
  const { record, params } = call
  const path = `${upstream.path}/${encodeURIComponent(params.id ?? '')}/${actionOf(call)}`
  const { header, bytes } = await requestRaw(call, upstream, {
    method: 'POST',
    path,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body }),
  })
  const type = header('content-type') ?? ''
  return {
    status: 200,
    headers: {
      // OpenAI's body is empty.
      'content-type': type.includes('json') ? 'application/json' : 'text/plain; charset=utf-8',
      ...notCached,
      ...idHeaders(record.requestId),
      ...admissionHeaders(record),
    },
    body: redactorOf(upstream.upstream).redactText(new TextDecoder().decode(bytes)),
  }
}

type Action = 'accept' | 'hangup' | 'refer' | 'reject'

/** The action is the end of the route's path. */
const actionOf = ({ route }: Pick<RoutedCall, 'route'>): Action =>
  route.path.slice(route.path.lastIndexOf('/') + 1) as Action

/** The body of some actions is optional, and a body has a content type. */
const hasBody = ({ inbound }: Pick<RoutedCall, 'inbound'>): boolean => inbound.header('content-type') !== undefined
