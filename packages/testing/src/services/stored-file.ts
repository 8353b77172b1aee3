import type { JsonObject } from '../base/json.ts'
import type { Route } from '../formats/route.ts'

/** A file that a client has uploaded, or that holds the results of a batch. */
export interface StoredFile {
  readonly format: Route['format']
  readonly object: JsonObject
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly contentType: string
}
