import { newId } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json } from '../../base/json/json.ts'
import type { Identity } from '../../config/identity.ts'
import { encodeError } from '../../formats/chat/error.ts'
import {
  type ModelPlaces,
  modelPlaces,
  routerPlaces,
  toolPlaces,
  visitValue,
} from '../../formats/shared/model-places.ts'
import { hasModelList, modelListVisitor, type Router } from '../../routing/router.ts'

/** Checks a client's message. Throws the GatewayError that rejects it. */
export type MessageCheck = (text: string, isBinary: boolean) => void

/** Returns the check of all names of models in a client's messages; undefined for callers that may use every model. */
export function modelListCheck(
  places: ModelPlaces,
  router: Router,
  identity: Identity | null,
): MessageCheck | undefined {
  if (!hasModelList(identity)) return undefined
  const visitor = modelListVisitor(places, router, identity)
  return (text, isBinary) => {
    if (parse(text) !== undefined) visitValue(text, places.root, visitor)
    // A tolerant parser at the upstream may accept invalid JSON. Binary audio is not JSON either.
    else if (!isBinary || text.toLowerCase().includes('model')) throw notJson()
  }
}

export function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

export const notJson = (): GatewayError =>
  new GatewayError('invalid_request', 'The message is not valid JSON, so the models that it names cannot be checked.')

/**
 * Encodes an error as OpenAI does for a rejected event.
 *
 * @param message the rejected one, if there is one
 */
export function errorEvent({ info }: GatewayError, message: string): string {
  const { error } = encodeError(info, '').body
  const event = parse(message)
  const id = isObject(event) && typeof event.event_id === 'string' ? event.event_id : null
  return JSON.stringify({
    type: 'error',
    event_id: newId('event_'),
    error: { ...(isObject(error) ? error : {}), event_id: id },
  })
}

const encoder = new TextEncoder()

/** A close frame holds 125 bytes, two of which are the code. */
const reasonBytes = 123

/** Returns the beginning of a text that fits into a close frame, without splitting a character. */
export function closeReason(text: string): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(reasonBytes))
  return text.slice(0, read)
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
