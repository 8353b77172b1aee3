import { newId } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Identity } from '../../config/identity.ts'
import type { RealtimeSession } from '../../config/realtime.ts'
import { wireCodecs } from '../../formats/codec-registry.ts'
import type { Usage } from '../../formats/ir.ts'
import { modelPlaces, routerPlaces, toolPlaces, visitValue } from '../../formats/shared/model-places.ts'
import { hasModelList, modelListVisitor, type Router } from '../../routing/router.ts'

/** Returns the check of a client's messages in a session; undefined for callers that may use every model. */
export function clientMessageCheck(router: Router, identity: Identity | null): RealtimeSession<unknown>['checkClient'] {
  if (!hasModelList(identity)) return undefined
  const visitor = modelListVisitor(realtimePlaces, router, identity)
  return (text, isBinary) => {
    let event: Json | undefined
    try {
      event = parse(text)
      if (event !== undefined) visitValue(text, realtimePlaces.root, visitor)
      // A tolerant parser at the upstream may accept invalid JSON. Binary audio is not JSON either.
      else if (!isBinary || text.toLowerCase().includes('model')) throw notJson()
      return undefined
    } catch (error) {
      if (error instanceof GatewayError) return errorEvent(error, event)
      throw error
    }
  }
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

const notJson = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    'The message is not valid JSON, so its models cannot be checked against the models that this token may use.',
  )

/** Encodes an error as the provider does for a rejected event. */
function errorEvent({ info }: GatewayError, event: Json | undefined): string {
  const { error } = wireCodecs.chat.encodeError(info, '').body
  const id = isObject(event) && typeof event.event_id === 'string' ? event.event_id : null
  return JSON.stringify({
    type: 'error',
    event_id: newId('event_'),
    error: { ...(isObject(error) ? error : {}), event_id: id },
  })
}

const count = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0

const part = (object: JsonObject, name: string): JsonObject => {
  const value = object[name]
  return isObject(value) ? value : {}
}

/** Returns the usage of a `response.done` event; undefined if there is none. */
export function usageOfResponse(event: JsonObject): Usage | undefined {
  const usage = part(event, 'response').usage
  if (!isObject(usage)) return undefined
  const input = part(usage, 'input_token_details')
  const output = part(usage, 'output_token_details')
  return {
    input: {
      total: count(usage.input_tokens),
      cacheRead: count(input.cached_tokens),
      audio: count(input.audio_tokens),
      image: count(input.image_tokens),
    },
    output: {
      total: count(usage.output_tokens),
      reasoning: count(output.reasoning_tokens),
      audio: count(output.audio_tokens),
    },
  }
}

/** Adds the usage of one more response. */
export const addUsage = (sum: Usage | undefined, next: Usage): Usage => ({
  input: added(sum?.input, next.input),
  output: added(sum?.output, next.output),
})

function added<T extends { total: number }>(sum: T | undefined, next: T): T {
  if (sum === undefined) return { ...next }
  const both = { ...sum } as Record<string, number>
  for (const [name, value] of Object.entries(next)) both[name] = (both[name] ?? 0) + value
  return both as T
}

/**
 * The members that name a model in what clients of realtime sessions write: requests for a session's secret, and the events of the session itself
 * (`session.update`, `response.create`). Older sessions have at their top what newer ones have in `session`.
 */
export const realtimePlaces = modelPlaces({
  names: [
    ...routerPlaces.names,
    ...toolPlaces.names,
    'audio.input.transcription.model',
    'input_audio_transcription.model',
    'session.audio.input.transcription.model',
    'session.input_audio_transcription.model',
    'session.model',
    'response.model',
  ],
  chooses: routerPlaces.chooses,
  sameMembers: {
    ...routerPlaces.sameMembers,
    ...toolPlaces.sameMembers,
    'session.tools': 'tools',
    'response.tools': 'tools',
  },
})
