import type { JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { Prompt } from '../contract/prompt.ts'
import type { FakeOperation, FormPart } from '../contract/request.ts'
import type { Script } from '../contract/script.ts'
import type { ProviderConventions, RenderedAnswer } from '../formats/dialect.ts'
import type { Route } from '../formats/route.ts'
import type { WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'

/** A request of a service. */
export interface ServiceRequest {
  /** The JSON body, or a form's plain fields. */
  readonly body: JsonObject
  readonly form: readonly FormPart[] | undefined
  /** The requested model, or the service's default; empty if there is neither. */
  readonly model: string
  readonly route: Route
}

/** A request with the script that answers it. */
export interface ScriptedRequest extends ServiceRequest {
  /** Script of the test, or of directives in the request. */
  readonly script: Script
  /** True if the script is a test's own: its text is not cut to the request's limits. */
  readonly scripted: boolean
  readonly brain: (prompt: Prompt) => Script
  readonly ids: Ids
  readonly now: () => number
}

/** One operation other than generation, as one provider serves it. */
export interface Service {
  readonly operation: FakeOperation
  readonly conventions: ProviderConventions
  /** Accepted content types. */
  readonly contentTypes: readonly ('application/json' | 'multipart/form-data')[]
  /** Model of a request that names none. Default: a model is required. */
  readonly defaultModel?: string
  /** Returns the body as JSON, whatever its content type; undefined if it is neither JSON nor a form. */
  read(content: RequestBody): JsonObject | undefined
  /** Returns true if a stream is requested. Default: `stream: true`. */
  wantsStream?(body: JsonObject): boolean
  /** Returns the provider's error for an invalid request. */
  check(request: ServiceRequest): WireError | undefined
  /** Returns the text that may contain directives. */
  directiveText(request: ServiceRequest): string
  render(serving: ScriptedRequest): RenderedAnswer
}

/** Reads JSON bodies only. */
export const readJson = ({ json }: RequestBody): JsonObject | undefined =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? json : undefined
