import type { Rendering, Voice } from './dialect.ts'
import type { WireError } from './errors.ts'
import type { Prompt } from './prompt.ts'
import type { Ids } from './random.ts'
import type { RequestBody } from './request-body.ts'
import type { Destination } from './routes.ts'
import type { FakeOperation, FormPart, JsonObject, Script } from './types.ts'

/** A request of a service. */
export interface Asked {
  /** The JSON body, or a form's plain fields in its place. */
  readonly body: JsonObject
  readonly form: readonly FormPart[] | undefined
  /** The model asked for, or the one of those that name none; empty if there is neither. */
  readonly model: string
  readonly destination: Destination
}

/** What an answer is made from. */
export interface Serving extends Asked {
  /** What a test laid out, or what directives in the request ask for. */
  readonly script: Script
  /** The script is a test's own: what it says is not cut to the request's limits. */
  readonly scripted: boolean
  readonly brain: (prompt: Prompt) => Script
  readonly ids: Ids
  readonly now: () => number
}

/** One operation beside generation, as one provider serves it. */
export interface Service {
  readonly operation: FakeOperation
  readonly voice: Voice
  /** The content types it takes. */
  readonly takes: readonly ('application/json' | 'multipart/form-data')[]
  /** The model of a request that names none. Default: one must be named. */
  readonly defaultModel?: string
  /** The body as JSON, whatever it came as; undefined if it is neither JSON nor a form. */
  read(content: RequestBody): JsonObject | undefined
  /** Whether a stream is asked for. Default: `stream: true`. */
  streams?(body: JsonObject): boolean
  /** What the provider would refuse, in its words. */
  check(asked: Asked): WireError | undefined
  /** The text in which directives may stand. */
  said(asked: Asked): string
  render(serving: Serving): Rendering
}

/** Reads JSON bodies only. */
export const readJson = ({ json }: RequestBody): JsonObject | undefined =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? json : undefined
