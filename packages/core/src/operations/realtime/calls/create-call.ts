import { GatewayError } from '../../../base/errors.ts'
import { admitEarly } from '../../../calls/admit-early.ts'
import { toReply } from '../../../calls/reply.ts'
import { tryTargets } from '../../../calls/try-targets.ts'
import { loadWire, wireCodecs } from '../../../formats/codec-registry.ts'
import { createReport } from '../../../formats/loss-report.ts'
import type { Reply } from '../../../http/inbound.ts'
import type { Transport } from '../../../http/transport.ts'
import type { RequestWriter } from '../../../lanes/lane.ts'
import { callUrl } from '../../../upstreams/outgoing-call.ts'
import { redactorOf } from '../../../upstreams/redaction/redactor.ts'
import type { Upstream } from '../../../upstreams/upstream.ts'
import { safeSegment, upstreamOf } from '../../objects/find-object.ts'
import { requestRaw } from '../../objects/send.ts'
import { unsupportedOperation } from '../../operation.ts'
import type { Handler } from '../../route.ts'
import { realtimePlaces } from '../messages.ts'
import { type CallControl, callControl, recordOwner } from './call-control.ts'
import { type CallOffer, readOffer } from './offer.ts'

const sdpType = 'application/sdp'
const decoder = new TextDecoder()

/**
 * Creates a call over WebRTC: the client's SDP offer goes to the provider, and its answer to the client. From then on the client and the
 * provider are connected directly, and the gateway counts nothing.
 */
export const handleCreateCall: Handler = async (call) => {
  const { shared, inbound, record, transport, signal, end, snapshot } = call
  const control = await callControl(call)
  await loadWire('chat')
  const offer = await readOffer(call)
  record.model = offer.model
  record.uncounted = true
  // The answer holds the password of the connection.
  record.capture?.withholdResponses()
  const { request } = offer
  await admitEarly({ ...call, request, modelPlaces: realtimePlaces })
  await snapshot.checkReferences('realtime-sessions', request, record.identity)
  const locating = locate(transport)
  const targetCall = { shared, inbound, request, modelPlaces: realtimePlaces, record, signal, end }
  const response = await tryTargets({
    ...targetCall,
    writer: offerWriter(offer),
    // A second call would begin in parallel.
    search: { hedges: false },
    transport: locating.transport,
  })
  const id = locating.id()
  if (id === undefined) {
    const error = new GatewayError('upstream_bad_response', 'The upstream created a call without its id.')
    response.trackedAttempt.end(error)
    throw error
  }
  const reply = await toReply({ ...targetCall, writer: offerWriter(offer), transport }, response)
  await keepOwner(control, response.target.upstreamName, id)
  return withLocation(reply, `${call.route.path}/${id}`)
}

const withLocation = (reply: Reply, location: string): Reply => ({
  ...reply,
  status: 201,
  headers: { ...reply.headers, location },
})

/** Records the owner of a call. Ends a call whose owner cannot be recorded, because no caller could hang up. */
async function keepOwner(control: CallControl, upstream: string, id: string): Promise<void> {
  try {
    await recordOwner(control, upstream, id)
  } catch (cause) {
    const target = upstreamOf(control, upstream)
    if (target !== undefined)
      await requestRaw(control.call, target, { method: 'POST', path: `${target.path}/${id}/hangup` }).catch(() => {})
    throw new GatewayError('internal', 'The owner of the new call could not be stored. Try again later.', { cause })
  }
}

const offerWriter = (offer: CallOffer): RequestWriter => ({
  write({ upstream, model }) {
    const path = upstream.objects?.calls?.chat
    if (path === undefined) throw unsupportedOperation(offer.model.slice(0, 100), 'realtime calls')
    return {
      lane: {
        kind: 'wire',
        ...offer.write(model),
        report: createReport(),
        readResponse: (bytes) => ({ body: readAnswer(bytes, upstream), contentType: sdpType }),
        openStream() {
          throw new GatewayError('internal', 'SDP is not a stream.')
        },
      },
      url: callUrl(upstream, path, undefined, model),
      codec: wireCodecs.chat,
      ignoresOverrides: true,
    }
  },
})

/** Returns the answer of an upstream, without its secrets. Throws GatewayError `upstream_bad_response` for anything but SDP. */
function readAnswer(bytes: Uint8Array, upstream: Upstream): string | Uint8Array {
  const text = decoder.decode(bytes)
  if (!text.startsWith('v='))
    throw new GatewayError('upstream_bad_response', 'The upstream responded with a body that is not SDP.')
  const redactor = redactorOf(upstream)
  return redactor.hasCredential(text) ? redactor.redactText(text) : bytes
}

/** Wraps a transport so that the id of the created call, which only a header holds, can be read after the call. */
function locate(transport: Transport): { readonly transport: Transport; id(): string | undefined } {
  let location: string | undefined
  const wrapped = async (request: Parameters<Transport>[0]) => {
    const response = await transport(request)
    location = response.header('location')
    return response
  }
  return {
    transport: transport.settlesOnAbort === true ? Object.assign(wrapped, { settlesOnAbort: true as const }) : wrapped,
    id() {
      const id = location?.split(/[?#]/, 1)[0]?.split('/').pop() ?? ''
      return safeSegment.test(id) ? id : undefined
    },
  }
}
