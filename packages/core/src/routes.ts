import type { Format } from './formats/ir.ts'

/** What a route does. Chat generation is `generate`, whatever the format. */
export type Operation = 'generate' | 'list-models' | 'get-model'

/** A header a route insists on: one of `names`, matching `pattern`. */
export interface RequiredHeader {
  readonly names: readonly [string, ...string[]]
  readonly shape: 'date'
}

/** One line of the table of routes. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** `/v1/models/{model}`: a brace takes the rest up to the next literal, slashes included. */
  readonly path: string
  readonly operation: Operation
  /** The dialect of requests, answers and errors. */
  readonly format: Format
  /** Answered without its version prefix too, for clients whose base URL lacks it. */
  readonly bare?: boolean
  /** The credential may stand in the query, as `?key=`. */
  readonly queryKey?: boolean
  readonly requires?: RequiredHeader
  /** A WebSocket upgrade on this path is answered 426, so that its client falls back to POST. */
  readonly upgrade?: 'fallback' | 'unavailable'
}

/** Every path of the gateway. The first that fits answers. */
export const routes: readonly Route[] = [
  { method: 'POST', path: '/v1/chat/completions', operation: 'generate', format: 'chat', bare: true },
  {
    method: 'POST',
    path: '/v1/messages',
    operation: 'generate',
    format: 'messages',
    bare: true,
    requires: { names: ['anthropic-version', 'vendor-version'], shape: 'date' },
  },
  { method: 'GET', path: '/v1/models', operation: 'list-models', format: 'chat' },
  { method: 'GET', path: '/v1/models/{model}', operation: 'get-model', format: 'chat' },
]
