import type { ConsoleOptions } from '@modelgate/console'
import type { Authenticate, GatewayConfig, ModelRoute, Upstream } from '@modelgate/core'
import type { OtelOptions } from '@modelgate/otel'
import type { LedgerSink, Prices, PriceTable, Tokens } from '@modelgate/tokens'
import type { RedisSettings } from './redis-settings.ts'

/**
 * What `modelgate.config.ts` (or `.js`, `.mjs`, `.cjs`, `.mts`) exports as its default: everything that `createGateway` takes, and
 * what belongs to the server around it. Nothing of it is needed: without `upstreams` there are those of the environment's keys.
 * Paths are relative to the file.
 */
export interface ModelgateConfig<U extends string = string>
  extends Omit<GatewayConfig<U>, 'auth' | 'upstreams' | 'models'> {
  /** Where it listens. The flag `--port` and the variable `PORT` win over it. Default 8787; 0: any free port. */
  port?: number
  /** Which address it listens on. The flag `--host` and the variable `HOST` win over it. Default `127.0.0.1`: this machine only. */
  host?: string
  /**
   * Who is let in, beside `token` and issued tokens: a function from a credential to an identity, or null. The word `'none'`
   * lets every call in.
   */
  auth?: Authenticate | 'none'
  /** A token that is let in. `MODELGATE_TOKEN` wins over it. Default: one is made for each run, where nothing else lets anybody in. */
  token?: string
  /** The folder of issued tokens and of what they have used. `MODELGATE_DATA` wins over it. */
  data?: string
  /**
   * The Redis that has them instead (`redis://localhost:6379`), for several servers, and the responses that calls refer to; an object also
   * has time limits. Needs the package `redis`. `MODELGATE_REDIS` wins over its address.
   */
  redis?: string | RedisSettings
  /** Issued tokens that you made yourself with `createTokens`; in place of `data`, `redis`, `prices` and `ledger`. */
  tokens?: Tokens
  /** What models cost: a JSON file, or its content. `MODELGATE_PRICES` wins over it. */
  prices?: string | PriceTable | Prices
  /** Where a record of each call goes: a folder, or a sink of your own. `MODELGATE_LEDGER` wins over it. */
  ledger?: string | LedgerSink
  /** Where calls can go, by name. Default: each provider whose key is in the environment; without any a demo. */
  upstreams?: Readonly<Record<U, Upstream>>
  /** What clients may ask for, and where it goes. Default, without `upstreams`: the models of the environment's providers. */
  models?: Readonly<Record<string, ModelRoute<NoInfer<U>>>>
  /** The home page and the Playground; or what to leave out of them. Default true. */
  console?: boolean | ConsoleOptions
  /** OpenTelemetry spans and metrics, by the SDK that the process was started with. Default false. */
  otel?: boolean | OtelOptions
}

/**
 * Gives an editor the types of a configuration, and returns it as it is.
 *
 * @example
 * export default defineConfig({
 *   upstreams: { claude: anthropic({ apiKey: process.env.ANTHROPIC_API_KEY }) },
 *   models: { 'claude-*': 'claude' },
 * })
 */
export const defineConfig = <const U extends string>(config: ModelgateConfig<U>): ModelgateConfig<U> => config
