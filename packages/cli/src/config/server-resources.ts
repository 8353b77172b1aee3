import { randomBytes } from 'node:crypto'
import type { ConsoleOptions } from '@modelgate/console'
import type { Logger, Plugin } from '@modelgate/core'
import type { CommandContext } from '../terminal/command-context.ts'
import { type Demo, openDemo } from './demo.ts'
import { hostOf } from './redis-settings.ts'
import { type OpenTokens, openTokens, type StorageLocations } from './token-storage.ts'

/** Resources of a server that survive a reload of the configuration. */
export interface ServerResources {
  readonly tokens: OpenTokens
  /** Their locations, to detect a configuration that moves them. */
  readonly locations: StorageLocations
  /** The token of runs without a configured one. */
  readonly generatedToken: string
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
  logger: Logger | false,
): ServerResources {
  const tokens = openTokens(locations, { cwd, logger })
  const pages = new Map<string, Plugin>()
  let demo: Promise<Demo> | undefined
  return {
    tokens,
    locations,
    generatedToken: generateToken(),
    demo() {
      demo ??= openDemo()
      return demo
    },
    async pages(options) {
      const key = JSON.stringify(options)
      const plugin = pages.get(key) ?? (await import('@modelgate/console')).consolePages(options)
      pages.set(key, plugin)
      return plugin
    },
    close: async () => {
      await Promise.all([demo?.then((opened) => opened.close()), tokens.close()])
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

const generateToken = (): string => `mg-${randomBytes(24).toString('base64url')}`
