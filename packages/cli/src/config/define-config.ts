import type { CaptureLimits, ConsoleOptions } from '@modelgate/console'
import type { Authenticate, GatewayConfig, Identity, ModelRoute, Upstream } from '@modelgate/core'
import type { OtelOptions } from '@modelgate/otel'
import type { LedgerSink, Prices, PriceTable, Tokens } from '@modelgate/tokens'
import type { RedisSettings } from './redis-settings.ts'

/**
 * Default export of `modelgate.config.ts` (or `.js`, `.mjs`, `.cjs`, `.mts`): the options of `createGateway` and those of the server.
 * All are optional; without `upstreams` the keys in the environment configure them. Paths are relative to the file.
 */
export interface ModelgateConfig<U extends string = string, I extends Identity = Identity>
  extends Omit<GatewayConfig<U, I>, 'auth' | 'upstreams' | 'models'> {
  /** Port to listen on; 0 selects any free port. The flag `--port` and the variable `PORT` win. Default: 8787. */
  port?: number
  /** Address to listen on. The flag `--host` and the variable `HOST` win. Default: `127.0.0.1`, this machine only. */
  host?: string
  /**
   * Authenticates callers in addition to `token` and issued tokens: a function that returns the identity of a credential, or null.
   * `'none'` accepts every call.
   */
  auth?: Authenticate<I> | 'none'
  /** Accepted API key. `MODELGATE_TOKEN` wins. Default: generated for each run if nothing else authenticates callers. */
  token?: string
  /** Folder that stores issued tokens and their usage. `MODELGATE_DATA` wins. */
  data?: string
  /**
   * Redis that stores tokens and stored responses for several servers, in place of `data`: an address such as `redis://localhost:6379`, or
   * an object with timeouts. Requires the package `redis`. `MODELGATE_REDIS` wins over its address.
   */
  redis?: string | RedisSettings
  /** Result of `createTokens`, in place of `data`, `redis`, `prices` and `ledger`. */
  tokens?: Tokens
  /** Prices of models: a JSON file or its content. `MODELGATE_PRICES` wins. */
  prices?: string | PriceTable | Prices
  /** Durable log of calls: a folder or a custom sink. `MODELGATE_LEDGER` wins. */
  ledger?: string | LedgerSink
  /** Upstreams by name. Default: each provider whose key is in the environment; without any key a demo. */
  upstreams?: Readonly<Record<U, Upstream>>
  /** Model routes. Default without `upstreams`: the models of the environment's providers. */
  models?: Readonly<Record<string, ModelRoute<NoInfer<U>, NoInfer<I>>>>
  /** Format of the log: `'pretty'` for people, `'json'`, or `'off'`. The flag `--log` wins. Default: `'pretty'` on a terminal, else `'json'`. */
  log?: 'pretty' | 'json' | 'off'
  /** Lowest level that is logged. The flag `--log-level` and the variable `LOG_LEVEL` win. Default: `'info'`. */
  logLevel?: 'debug' | 'info' | 'warn' | 'error'
  /**
   * Number of processes that serve calls; `'auto'`: one for each processor core. They share tokens, limits, stored responses, cooldowns, log and
   * ledger. The flag `--workers` and the variable `MODELGATE_WORKERS` win. Default: 1.
   */
  workers?: number | 'auto'
  /** Serves the home page and the Playground; an object configures them. Default: true. */
  console?: boolean | ConsoleOptions
  /**
   * `'bodies'`, or limits: the recent calls keep requests and responses in memory, for holders of `MODELGATE_ADMIN_TOKEN`. The flag `--capture` and
   * the variable `MODELGATE_CAPTURE` win. Default: `'off'`.
   */
  capture?: 'bodies' | 'off' | CaptureLimits
  /** Records OpenTelemetry spans and metrics with the SDK of the process. Default: false. */
  otel?: boolean | OtelOptions
}

/**
 * Returns a configuration unchanged; gives editors its types.
 *
 * @example
 * export default defineConfig({
 *   upstreams: { claude: anthropic({ apiKey: process.env.ANTHROPIC_API_KEY }) },
 *   models: { 'claude-*': 'claude' },
 * })
 */
export const defineConfig = <const U extends string, I extends Identity = Identity>(
  config: ModelgateConfig<U, I>,
): ModelgateConfig<U, I> => config
