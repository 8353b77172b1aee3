import { randomBytes } from 'node:crypto'
import type { ConsoleOptions } from '@modelgate/console'
import type { Logger, Plugin } from '@modelgate/core'
import type { LedgerSink } from '@modelgate/tokens'
import type { CommandContext } from '../terminal/command-context.ts'
import { type Demo, openDemo } from './demo.ts'
import { hostOf } from './redis-settings.ts'
import type { ServerLog } from './server-log.ts'
import { type OpenTokens, openTokens, type StorageLocations } from './token-storage.ts'

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
  /** The demo, started on first use. */
  demo(): Promise<Demo>
  /** The console plugin. A plugin serves only one gateway, so it is kept. */
  pages(options: ConsoleOptions): Promise<Plugin>
  close(): Promise<void>
}

/** Opens the resources of a server. */
export function openServerResources(
  locations: StorageLocations,
  { cwd }: CommandContext,
  log: ServerLog,
  logger: Logger | false,
  defaultLedger?: LedgerSink,
): ServerResources {
  const tokens = openTokens(locations, { cwd, logger, defaultLedger })
  const pages = new Map<string, Plugin>()
  let latest: ConsoleOptions = {}
  const tokenObjects: object[] = []
  let demo: Promise<Demo> | undefined
  return {
    tokens,
    log,
    locations,
    generatedToken: generateToken('mg'),
    generatedAdminToken: generateToken('mga'),
    demo() {
      demo ??= openDemo()
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
