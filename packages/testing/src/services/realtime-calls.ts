import { asObject, asString, isObject, parseJson } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { RequestHead } from '../formats/dialect.ts'
import type { Route } from '../formats/route.ts'
import { invalidRequest, type WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'

/** Calls that have begun, by id. */
export interface RealtimeCallMemory {
  readonly calls: Map<string, 'webrtc' | 'ringing' | 'accepted' | 'ended'>
}

export const createRealtimeCallMemory = (): RealtimeCallMemory => ({ calls: new Map() })

interface RealtimeCallRequest {
  readonly head: RequestHead
  readonly route: Route
  readonly content: RequestBody
  readonly memory: RealtimeCallMemory
  readonly ids: Ids
  readonly exists: (model: string) => boolean
}

type RealtimeCallAnswer =
  | {
      readonly text: string
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
    }
  | { readonly error: WireError }

/** Phone calls arrive by telephone: each id that begins so is one that rings. */
const phoneCall = /^rtc_sip_\w+$/

const invalid = (message: string, param: string): RealtimeCallAnswer => ({
  error: invalidRequest(400, message, { param }),
})

const done: RealtimeCallAnswer = { text: '', status: 200, headers: {} }

/** Handles a call about realtime calls over WebRTC and SIP. */
export function serveRealtimeCall(request: RealtimeCallRequest): RealtimeCallAnswer {
  const { head, route, content, memory, exists } = request
  const { calls } = memory
  const { item: id } = route
  if (id === undefined) return createCall(request)
  const state = calls.get(id) ?? (phoneCall.test(id) ? 'ringing' : 'ended')
  const action = head.path.slice(head.path.lastIndexOf('/') + 1)
  const expected = { accept: ['ringing'], reject: ['ringing'], refer: ['accepted'], hangup: ['webrtc', 'accepted'] }
  if (state === 'ended' || !expected[action as keyof typeof expected].includes(state))
    return { error: invalidRequest(404, `No call found with id ${id}`) }
  const body = asObject(content.json)
  if (action === 'accept') {
    if (body.type !== 'realtime') return invalid("Missing required parameter: 'type'.", 'type')
    if (!exists(asString(body.model))) return invalid(`The model '${asString(body.model)}' does not exist.`, 'model')
    calls.set(id, 'accepted')
    return done
  }
  if (action === 'refer' && asString(body.target_uri) === '')
    return invalid("Missing required parameter: 'target_uri'.", 'target_uri')
  calls.set(id, 'ended')
  return done
}

const decoder = new TextDecoder()

function createCall({ content: { form }, memory, ids, exists }: RealtimeCallRequest): RealtimeCallAnswer {
  if (form === undefined) return invalid('Could not parse multipart form', 'body')
  const unknown = form.find(({ name }) => name !== 'sdp' && name !== 'session')
  if (unknown !== undefined) return invalid(`Unknown parameter: '${unknown.name}'.`, unknown.name)
  const textOf = (name: string): string => decoder.decode(form.find((part) => part.name === name)?.bytes)
  const sdp = textOf('sdp')
  if (!sdp.startsWith('v=0')) return invalid('The offer is not valid SDP.', 'sdp')
  const session = parseJson(textOf('session'))
  if (!isObject(session) || session.type !== 'realtime')
    return invalid("Missing required parameter: 'session.type'.", 'session.type')
  const model = asString(session.model)
  if (!exists(model)) return invalid(`The model '${model}' does not exist.`, 'session.model')
  const id = ids.item('rtc')
  memory.calls.set(id, 'webrtc')
  return {
    text: `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=${model}\r\nt=0 0\r\n`,
    status: 201,
    headers: { 'content-type': 'application/sdp', location: `/v1/realtime/calls/${id}` },
  }
}
