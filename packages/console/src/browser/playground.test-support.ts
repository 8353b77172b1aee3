import { anthropic, createGateway, type GatewayConfig, gemini, openai } from '@modelgate/core'
import { createFakeProvider, type FakeProvider } from '@modelgate/testing'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { type ConsoleOptions, consolePages } from '../index.ts'
import { type consoleGateway, hosts, type Opened, open, type Served } from './browser.test-support.ts'

export interface Scene {
  readonly provider: FakeProvider
  readonly served: Served
  /** Address of the Playground. */
  readonly url: string
}

const apiKey = 'sk-upstream-0123456789'

/** Serves a gateway like the example server without keys: one fake provider behind an upstream of each format, with prices. */
export async function serveDemo(
  host: string,
  mount: '' | '/ai',
  paceMs = 0,
  own: Partial<GatewayConfig> & { console?: ConsoleOptions } = {},
): Promise<Scene> {
  const { console: consoleOptions, ...more } = own
  const provider = createFakeProvider({ apiKey, paceMs })
  const at = { apiKey, baseURL: 'http://provider.test' }
  const v1 = { apiKey, baseURL: 'http://provider.test/v1' }
  const make: typeof consoleGateway = (options = {}, config = {}) =>
    createGateway({
      auth: (token) => (token === 'right' ? { id: 'me' } : null),
      upstreams: {
        'demo-openai': openai({ ...v1, formats: ['chat'] }),
        'demo-anthropic': anthropic(at),
        'demo-google': gemini(at),
        'demo-openai-responses': openai({ ...v1, formats: ['responses'] }),
      },
      models: {
        'demo-chat': 'demo-openai',
        'demo-messages': 'demo-anthropic',
        'demo-gemini': 'demo-google',
        'demo-responses': 'demo-openai-responses',
        'gpt-*': 'demo-openai',
      },
      fetch: provider.fetch,
      plugins: [
        {
          name: 'prices',
          costOf: ({ usage }) => (usage === undefined ? undefined : { amount: 0.00125, currency: 'USD' }),
        },
        consolePages(consoleOptions ?? options),
      ],
      logger: false,
      ...config,
      ...more,
    })
  const served = await (hosts.find(({ name }) => name === host) as (typeof hosts)[number]).serve(mount, make)
  return { provider, served, url: `${served.origin}${mount}/console/playground` }
}

/** Opens the Playground with a token that it has checked. */
export async function openPlayground(url: string, options?: BrowserContextOptions): Promise<Opened> {
  const opened = await open(url, options)
  // Shorter than the test's timeout, so that a failure names what it waited for.
  await checkToken(opened.page, 'right')
  await opened.page.getByText('Valid token · 4 models available').waitFor()
  return opened
}

export async function checkToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Check' }).click()
}

/** Sends a question and by default waits for the end of the response. Resolves to the response's element. */
export async function ask(page: Page, text: string, wait = true) {
  await page.getByLabel('Your question').fill(text)
  await page.getByLabel('Your question').press('Enter')
  const answer = page.getByRole('article').last()
  await answer.waitFor()
  if (wait) await page.locator('article[aria-busy=false]').last().waitFor()
  if (wait) await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' })
  return answer
}

/** Returns the problems except the browser's own message about error responses that the test expects. */
export const unexpected = (wrongs: readonly string[]): string[] =>
  wrongs.filter((wrong) => !/^console: Failed to load resource: the server responded with a status of [45]/.test(wrong))
