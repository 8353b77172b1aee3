import { randomBytes } from 'node:crypto'
import type { ConsoleOptions, ConsolePeers } from '@modelgate/console'
import type { HealthState, Logger, Plugin } from '@modelgate/core'
import type { LedgerSink } from '@modelgate/tokens'
import type { CommandContext } from '../terminal/command-context.ts'
import { type Demo, type OpenDemo, openDemo } from './demo.ts'
import { hostOf } from './redis-settings.ts'
import type { ServerLog } from './server-log.ts'
import { type OpenTokens, openTokens, type SharedTokens, type StorageLocations } from './token-storage.ts'

/** Resources of a server that survive a reload of the configuration. */
export interface ServerResources {
  readonly tokens: OpenTokens
  readonly log: ServerLog
  /** Their locations, to detect a configuration that moves them. */
  readonly locations: StorageLocations
  /** The token of runs without a configured one. */
  readonly generatedToken: string
  /** The administrator's token of demos without a configured one. */
  readonly generatedAdminToken: string
  /** Resources that a worker shares with the others. Undefined: this process is no worker. */
  readonly shared?: SharedParts | undefined
  /** The demo, started on first use. */
  demo(): Promise<Demo>
  /** The running demo, for workers; undefined if none was started. */
  readonly openDemo: Promise<OpenDemo> | undefined
  /** The console plugin. A plugin serves only one gateway, so it is kept. */
  pages(options: ConsoleOptions): Promise<Plugin>
  close(): Promise<void>
}

/** Resources of a primary process that its workers share. */
export interface SharedParts {
  readonly generatedToken: string
  readonly generatedAdminToken: string
  /** Secret of compacted conversations, if the configuration has none. */
  readonly compactionSecret: string
  readonly tokens: SharedTokens
  readonly health: HealthState
  readonly peers: ConsolePeers
  demo(): Promise<Demo>
}

/**
 * Opens the resources of a server.
 *
 * @param shared for a worker: the parts that its primary process holds
 */
export function openServerResources(
  locations: StorageLocations,
  { cwd }: CommandContext,
  log: ServerLog,
  logger: Logger | false,
  defaultLedger?: LedgerSink,
  shared?: SharedParts,
): ServerResources {
  const tokens = openTokens(locations, { cwd, logger, defaultLedger, ofPrimary: shared?.tokens })
  const pages = new Map<string, Plugin>()
  let latest: ConsoleOptions = {}
  const tokenObjects: object[] = []
  let demo: Promise<OpenDemo> | undefined
  return {
    tokens,
    log,
    locations,
    generatedToken: shared?.generatedToken ?? generateToken('mg'),
    generatedAdminToken: shared?.generatedAdminToken ?? generateToken('mga'),
    shared,
    demo() {
      if (shared !== undefined) return shared.demo()
      demo ??= openDemo()
      return demo
    },
    get openDemo() {
      return demo
    },
    async pages(options) {
      const { recentCalls, usage } = options
      // A reload can change the functions, which the key does not contain.
      latest = options
      if (usage !== undefined && !tokenObjects.includes(usage.tokens)) tokenObjects.push(usage.tokens)
      const tokensAt = usage === undefined ? -1 : tokenObjects.indexOf(usage.tokens)
      const key = JSON.stringify({ ...options, usage: tokensAt })
      let plugin = pages.get(key)
      if (plugin === undefined) {
        const { consolePages } = await import('@modelgate/console')
        plugin = consolePages({
          ...options,
          ...(shared === undefined ? {} : { peers: shared.peers }),
          ...(recentCalls === undefined
            ? {}
            : {
                recentCalls: {
                  ...recentCalls,
                  authorize: (request) => latest.recentCalls?.authorize(request) ?? false,
                },
              }),
          ...(usage === undefined
            ? {}
            : { usage: { ...usage, authorize: (request) => latest.usage?.authorize(request) ?? false } }),
        })
        // Another plugin's calls are gone, and with them the contents that it captured.
        pages.clear()
        pages.set(key, plugin)
      }
      return plugin
    },
    close: async () => {
      await Promise.all([demo?.then((opened) => opened.close()), tokens.close()])
      log.plugin.flush()
    },
  }
}

/** Describes locations without passwords, for comparison. */
export const describeLocations = ({ data, redis, prices, ledger, tokens }: StorageLocations): string =>
  [
    tokens === undefined ? '' : 'tokens of its own',
    data ?? '',
    redis === undefined ? '' : JSON.stringify({ ...redis, url: hostOf(redis.url) }),
    typeof prices === 'string' ? prices : JSON.stringify(prices),
    typeof ledger === 'string' ? ledger : '',
  ].join('\n')

const generateToken = (prefix: string): string => `${prefix}-${randomBytes(24).toString('base64url')}`
