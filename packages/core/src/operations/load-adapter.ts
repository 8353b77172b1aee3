import type { RequestBody } from '../formats/request-body.ts'
import type { RequestWriter } from '../lanes/lane.ts'
import type { RoutedCall } from './route.ts'

/** Returns the writer for the clients of an adaptation. */
export type Adapter = (writer: RequestWriter, request: RequestBody) => RequestWriter

/** Loads the adapter of a route's clients. Undefined for clients of the format itself, whose calls do nothing more. */
export function loadAdapter({
  route: { adaptation, operation },
  snapshot: { parts },
}: Pick<RoutedCall, 'route' | 'snapshot'>): Promise<Adapter> | undefined {
  if (adaptation === undefined) return undefined
  return Promise.all([parts.loadAdaptation(adaptation), parts.loadAdaptedLane()]).then(
    ([{ [operation]: edits }, { AdaptedWriter }]) =>
      edits === undefined ? (writer) => writer : (writer, request) => new AdaptedWriter(writer, edits, request),
  )
}
