import { GatewayError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import type { Identity } from '../../config/identity.ts'
import type { RealtimeSession } from '../../config/realtime.ts'
import { wireCodecOf } from '../../formats/codec-registry.ts'
import { visitValue } from '../../formats/shared/model-places.ts'
import { isLimited, visitorFor } from '../../routing/named-models.ts'
import type { Router } from '../../routing/router.ts'
import { realtimePlaces } from './places.ts'

/** The check of what a client sends in a session; undefined for callers that may use every model. */
export function clientMessageCheck(router: Router, identity: Identity | null): RealtimeSession<unknown>['checkClient'] {
  if (!isLimited(identity)) return undefined
  const visitor = visitorFor(realtimePlaces, router, identity)
  return (text, isBinary) => {
    let event: Json | undefined
    try {
      event = parse(text)
      if (event !== undefined) visitValue(text, realtimePlaces.root, visitor)
      // What no strict parser takes, a tolerant one may. Sound is no JSON either.
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
    'The message is not valid JSON: a limited list of models cannot be checked in it.',
  )

/** As the provider reports an event that it refuses. */
function errorEvent({ info }: GatewayError, event: Json | undefined): string {
  const { error } = wireCodecOf('chat').encodeError(info, '').body
  const id = isObject(event) && typeof event.event_id === 'string' ? event.event_id : null
  return JSON.stringify({
    type: 'error',
    event_id: newId('event_'),
    error: { ...(isObject(error) ? error : {}), event_id: id },
  })
}
