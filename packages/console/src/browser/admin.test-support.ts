import { createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, type IssuedToken, memoryStorage, type TokenSettings } from '@modelgate/tokens'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { type ConsoleOptions, consolePages } from '../index.ts'
import { hosts, type Opened, open, type Served } from './browser.test-support.ts'

export const adminToken = 'the-admin-token'

/** Each host, at its root and below a path in turn. */
export const places = hosts.map((host, at) => ({ ...host, mount: at % 2 === 0 ? ('/ai' as const) : ('' as const) }))

export interface Platform {
  /** Address of the gateway. */
  readonly root: string
  readonly issue: (settings: TokenSettings) => Promise<IssuedToken>
  /** Makes a call with the secret of a token. Returns the status. */
  readonly call: (secret: string, model?: string) => Promise<number>
  readonly close: () => Promise<void>
}

export interface PlatformOptions {
  /** Default: 5 USD and 25 USD for a million tokens of `priced`. */
  readonly prices?: false
  readonly console?: Partial<ConsoleOptions>
}

/** Serves a gateway with issued tokens, their pages, and the models `priced` and `unpriced`. */
export async function servePlatform(
  { serve, mount }: Pick<(typeof places)[number], 'serve' | 'mount'>,
  options: PlatformOptions = {},
): Promise<Platform> {
  const provider = createFakeProvider({ apiKey: 'k' })
  const tokens = createTokens({
    storage: memoryStorage(),
    ...(options.prices === false ? {} : { prices: { models: { priced: { input: 5, output: 25 } } } }),
    logger: false,
  })
  const authorize: NonNullable<ConsoleOptions['usage']>['authorize'] = ({ header }) =>
    header('authorization') === `Bearer ${adminToken}`
  const served: Served = await serve(mount, (_options = {}, config = {}) =>
    createGateway({
      auth: tokens.authenticate,
      upstreams: { provider: openai({ apiKey: 'k', baseURL: 'http://provider.test/v1', formats: ['chat'] }) },
      models: { priced: 'provider', unpriced: 'provider' },
      fetch: provider.fetch,
      plugins: [consolePages({ usage: { authorize, tokens }, ...options.console })],
      logger: false,
      ...config,
    }),
  )
  const root = served.origin + mount
  return {
    root,
    issue: (settings) => tokens.issue(settings),
    async call(secret, model = 'priced') {
      const response = await fetch(`${root}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
      })
      await response.text()
      return response.status
    },
    async close() {
      await served.close()
      await tokens.close()
    },
  }
}

/** Opens a page of the administrator with the token in its fragment. */
export async function openAsAdmin(
  root: string,
  page: 'usage' | 'tokens',
  options?: BrowserContextOptions,
): Promise<Opened> {
  const opened = await open(`${root}/console/${page}#token=${adminToken}`, options)
  return opened
}

/** Returns the texts of a table's cells, by row. */
export const cellsOf = (page: Page, part: 'thead' | 'tbody' | 'tfoot'): Promise<string[][]> =>
  page
    .locator(`.admin-table ${part} tr`)
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? '')))
