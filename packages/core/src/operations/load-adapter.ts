import { lazy } from '../base/async.ts'
import { adaptations } from '../formats/adaptations/adaptations.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { RequestWriter } from '../lanes/lane.ts'
import type { Route } from './route.ts'

/** Returns the writer for the clients of an adaptation. */
export type Adapter = (writer: RequestWriter, request: RequestBody) => RequestWriter

const adaptedLane = lazy(() => import('../lanes/adapted.ts'))

/** Loads the adapter of a route's clients. Undefined for clients of the format itself, whose calls do nothing more. */
export function loadAdapter({ adaptation, operation }: Route): Promise<Adapter> | undefined {
  if (adaptation === undefined) return undefined
  return Promise.all([adaptations[adaptation](), adaptedLane()]).then(([{ [operation]: edits }, { AdaptedWriter }]) =>
    edits === undefined ? (writer) => writer : (writer, request) => new AdaptedWriter(writer, edits, request),
  )
}
