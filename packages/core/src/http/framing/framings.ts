import { lazy } from '../../base/async.ts'
import type { Framing, FramingName } from './framing.ts'

/** Loads a framing on its first use. Server-sent events are part of the entry, and cost a call no look-up. */
export const framings: { readonly [N in FramingName]: () => Framing | Promise<Framing> } = {
  'json-array': lazy(() => import('./json-array.ts').then(({ jsonArray }) => jsonArray)),
  ndjson: lazy(() => import('./ndjson.ts').then(({ ndjson }) => ndjson)),
  'named-frames': lazy(() => import('./event-frames.ts').then(({ namedFrames }) => namedFrames)),
  'chunk-frames': lazy(() => import('./event-frames.ts').then(({ chunkFrames }) => chunkFrames)),
}
