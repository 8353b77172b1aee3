import type { BodySource } from '../../accounting/call-capture.ts'
import type { ObjectKind } from '../../upstreams/upstream.ts'
import type { CallerRecords } from '../responses/records.ts'
import type { RoutedCall } from '../route.ts'
import type { ObjectDialect } from './dialects.ts'

/** A call about stored objects, and what its steps depend on. */
export interface ObjectCall {
  readonly call: RoutedCall
  readonly kind: ObjectKind
  readonly dialect: ObjectDialect
  readonly records: CallerRecords
  /** Every caller may use every object of this kind. */
  readonly isShared: boolean
}

/** Returns the client's body in chunks. */
export function streamOf(inbound: BodySource, limits: RoutedCall['shared']['limits']): AsyncIterable<Uint8Array> {
  if (inbound.stream !== undefined) return inbound.stream(limits.uploadBytes)
  return (async function* whole() {
    yield await inbound.read(limits.bodyBytes)
  })()
}
