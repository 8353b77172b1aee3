import type { Json } from '../../base/json/types.ts'
import type { ReferenceKind } from './places.ts'

/** The id of a stored object in a response: a later request of the same caller may refer to it. */
export interface Received {
  readonly kind: ReferenceKind
  readonly id: string
}

/** The ids among some members of a response; undefined if there is none. */
export function receivedIds(kind: ReferenceKind, ids: readonly (Json | undefined)[]): readonly Received[] | undefined {
  const received: Received[] = []
  for (const id of ids) if (typeof id === 'string' && id !== '') received.push({ kind, id })
  return received.length === 0 ? undefined : received
}
