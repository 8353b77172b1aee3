import type { ReportProblem } from '../base/problems.ts'
import type { createCapture } from '../calls/capture/capture.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { FormatLoaders } from '../formats/codec-registry.ts'
import type { ModelCardRow } from '../formats/model-card.ts'
import type { CodecFinder } from '../operations/client-codec.ts'
import type { Handler, HandlerParts, Route } from '../operations/route.ts'

/**
 * What a gateway can do: its routes, and loaders of the code for them. A bundler includes everything that the loaders of the imported
 * edition reach, and nothing of the others (docs/decisions/0018).
 */
export interface Edition {
  readonly routes: readonly Route[]
  readonly formats: FormatLoaders
  readonly parts: HandlerParts
  /** Whether the gateway loads the translation in the background. */
  readonly translates: boolean
  /** Finds the codec of a response, errors for unknown paths included. */
  readonly findCodec: CodecFinder
  /** Returns the handler of a route: a promise until it is loaded. */
  handlerOf(route: Route): Handler | Promise<Handler>
  /** Loads the capture of bodies, for plugins that ask for them. */
  readonly loadCapture: () => typeof createCapture | Promise<typeof createCapture>
  /** Loads the rows of the shipped table of model cards. */
  loadCardTable(): Promise<readonly ModelCardRow[]>
  /** Absent: the edition has no realtime sessions. */
  loadRealtime?(): Promise<typeof import('../operations/realtime/realtime.ts')>
  /** Reports what a configuration asks for and the edition does not have. */
  checkConfig?(config: GatewayConfig, report: ReportProblem): void
  /** Follows the message for unknown paths. */
  readonly unknownPathAdvice?: string
}
