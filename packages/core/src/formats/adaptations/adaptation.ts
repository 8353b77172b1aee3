import type { JsonObject } from '../../base/json/json.ts'
import type { Operation } from '../../base/names.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { Loss, Report } from '../ir.ts'

/**
 * The clients of a vendor whose API is another vendor's format with differences. An adaptation turns their requests into requests of that
 * format before they are read, and responses into the form that the clients accept. It has edits for each operation that differs.
 */
export type Adaptation = { readonly [O in Operation]?: ExchangeEdits }

/** The edits of the requests and responses of one operation. Pure and synchronous. */
export interface ExchangeEdits {
  /** Returns the changes to a request. Absent, or undefined: there are none. */
  editRequest?(body: JsonObject): RequestChanges | undefined
  /** Returns a whole response in the client's form. What the form cannot hold is reported. Absent: it is the same. */
  editResponse?(body: JsonObject, report: Report): JsonObject
  /** Creates the editor of one stream. Absent: the events are the same. */
  openEvents?(report: Report): EventEditor
  /** Client's names of request fields, by the names in the format. Default: the same name. */
  readonly clientFields?: { readonly [field: string]: string }
}

/** Changes to the top-level members of a request. All other members keep their bytes. */
export interface RequestChanges {
  readonly set: JsonObject
  readonly drop: readonly string[]
  /** What the format cannot hold. */
  readonly losses?: readonly Loss[]
}

/** Edits the events of one stream. */
export interface EventEditor {
  push(event: SseEvent): readonly SseEvent[]
  /** Returns the events that follow the last one. Called once, also after an error event. */
  end(): readonly SseEvent[]
}
