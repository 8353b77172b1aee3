import { randomBytes } from 'node:crypto'
import type { ConsoleOptions } from '@modelgate/console'
import type { Logger, Plugin } from '@modelgate/core'
import type { World } from '../world.ts'
import { type Demo, openDemo } from './demo.ts'
import { type OpenTokens, openTokens, type Places } from './open-tokens.ts'
import { hostOf } from './redis-settings.ts'

/** What outlives a reload of the configuration. */
export interface Kept {
  readonly tokens: OpenTokens
  /** Where they are, to see whether a new configuration wants them elsewhere. */
  readonly places: Places
  /** For runs in which nobody set one. */
  readonly madeToken: string
  /** The demo's upstreams, opened when they are first needed. */
  demo(): Promise<Demo>
  /** The pages: one plugin for one gateway. */
  pages(options: ConsoleOptions): Promise<Plugin>
  close(): Promise<void>
}

/** Opens what a server holds on to for as long as it runs. */
export function openKept(places: Places, { cwd }: World, logger: Logger | false): Kept {
  const tokens = openTokens(places, { cwd, logger })
  const pages = new Map<string, Plugin>()
  let demo: Promise<Demo> | undefined
  return {
    tokens,
    places,
    madeToken: makeToken(),
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

/** Places in words: what can be compared, and shown. */
export const saidOf = ({ data, redis, prices, ledger, tokens }: Places): string =>
  [
    tokens === undefined ? '' : 'tokens of its own',
    data ?? '',
    redis === undefined ? '' : JSON.stringify({ ...redis, url: hostOf(redis.url) }),
    typeof prices === 'string' ? prices : JSON.stringify(prices),
    typeof ledger === 'string' ? ledger : '',
  ].join('\n')

const makeToken = (): string => `mg-${randomBytes(24).toString('base64url')}`
