import { lazy } from '../../base/async.ts'
import type { Framing } from './framing.ts'

/**
 * A framing other than server-sent events, which every format has unless its route states another one: one JSON array (`json-array`) or a
 * JSON text for each line (`ndjson`).
 */
export type FramingName = 'json-array' | 'ndjson'

/** Loads a framing on its first use. Server-sent events are part of the entry, and cost a call no look-up. */
export const framings: { readonly [N in FramingName]: () => Framing | Promise<Framing> } = {
  'json-array': lazy(() => import('./json-array.ts').then(({ jsonArray }) => jsonArray)),
  ndjson: lazy(() => import('./ndjson.ts').then(({ ndjson }) => ndjson)),
}
