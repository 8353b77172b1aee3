import { createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consolePages } from '../index.ts'
import {
  closeBrowser,
  type consoleGateway,
  hosts,
  open,
  type Served,
  seriousViolations,
  withoutBrowser,
} from './browser.test-support.ts'
import { unexpected } from './playground.test-support.ts'

const adminToken = 'the-admin-token'

const make: typeof consoleGateway = (_options = {}, config = {}) => {
  const provider = createFakeProvider({ apiKey: 'k' })
  return createGateway({
    auth: (token) => (token === 'right' ? { id: 'tok_1', name: 'laptop' } : null),
    upstreams: {
      primary: openai({ apiKey: 'k', baseURL: 'http://refusing.test/v1', formats: ['chat'] }),
      secondary: openai({ apiKey: 'k', baseURL: 'http://provider.test/v1', formats: ['chat'] }),
    },
    models: {
      smart: [
        { upstream: 'primary', model: 'first-model' },
        { upstream: 'secondary', model: 'second-model' },
      ],
      plain: 'secondary',
      embedder: 'secondary',
    },
    fetch: (input, init) =>
      new URL(input instanceof Request ? input.url : input).hostname === 'refusing.test'
        ? Promise.resolve(new Response('no', { status: 401 }))
        : provider.fetch(input, init),
    plugins: [
      { name: 'prices', costOf: () => ({ amount: 0.00125, currency: 'USD' }) },
      consolePages({ recentCalls: { authorize: ({ header }) => header('authorization') === `Bearer ${adminToken}` } }),
    ],
    logger: false,
    ...config,
  })
}

/** Each host, at its root and below a path in turn. */
const places = hosts.map((host, at) => ({ ...host, mount: at % 2 === 0 ? ('/ai' as const) : ('' as const) }))

const ask = async (root: string, body: object, path = '/v1/chat/completions'): Promise<string> => {
  const response = await fetch(root + path, {
    method: 'POST',
    headers: { authorization: 'Bearer right', 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...body }),
  })
  await response.text()
  return response.headers.get('modelgate-request-id') ?? ''
}

async function openCalls(root: string, options?: BrowserContextOptions) {
  const opened = await open(`${root}/console/calls`, options)
  return opened
}

async function enterToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Admin token').fill(token)
  await page.getByRole('button', { name: 'Show calls' }).click()
}

describe.skipIf(withoutBrowser)('the page of recent calls in a browser', { timeout: 120_000 }, () => {
  afterAll(closeBrowser)

  describe.each(places)("on $name, mounted at '$mount/'", ({ serve, mount }) => {
    let served: Served
    beforeAll(async () => {
      served = await serve(mount, make)
    })
    afterAll(() => served.close())

    it('asks for the admin token, shows earlier and new calls, and opens one', async () => {
      const root = served.origin + mount
      await ask(root, { model: 'plain' })
      const { page, wrongs, close } = await openCalls(root)
      await enterToken(page, 'wrong')
      await page.getByText('The gateway rejected this token.').waitFor()
      await enterToken(page, adminToken)
      await page.getByText('Live', { exact: true }).waitFor()
      await page.locator('.call-row', { hasText: 'plain' }).waitFor()
      const id = await ask(root, { model: 'smart', stream: true })
      const row = page.locator('.call-row', { hasText: 'smart' })
      await row.waitFor()
      for (const text of ['200', '→ secondary/second-model', 'laptop', '2 attempts', '$0.00125'])
        expect(await row.textContent()).toContain(text)
      await row.click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      const attempts = await page.locator('.timeline > li').allTextContents()
      expect(attempts[0]).toMatch(/primary\/first-model.*401.*first attempt.*upstream_auth/)
      expect(attempts[1]).toMatch(/secondary\/second-model.*200.*fallback/)
      expect(attempts.slice(2).join()).toMatch(/First event.*End/)
      expect(await page.locator('.call-figures').textContent()).toContain(id)
      expect(page.url()).toBe(`${root}/console/calls#call=${id}`)
      const inPlayground = await page.getByRole('link', { name: 'Open in Playground' }).getAttribute('href')
      const { page: playground, close: closePlayground } = await open(new URL(inPlayground ?? '', page.url()).href)
      await playground.getByText('A link filled in').waitFor()
      expect(await playground.getByLabel('Client format').inputValue()).toBe('chat')
      await closePlayground()
      // Reloaded, the tab still has the token, and the address the call.
      await page.reload()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByText('Choose a call to see').waitFor()
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })
  })

  describe('behind one host', () => {
    let served: Served
    let root: string
    beforeAll(async () => {
      served = await (hosts.find(({ name }) => name === 'Express') as (typeof hosts)[number]).serve('/ai', make)
      root = `${served.origin}/ai`
      await ask(root, { model: 'plain', stream: true })
      await ask(root, { model: 'smart' })
      await ask(root, { model: 'plain', max_tokens: 9, top_k: 3 }, '/v1/messages')
      await ask(root, { model: 'unknown' })
    })
    afterAll(() => served.close())

    it('reports a rejected token only after the gateway rejected it', async () => {
      const { page, close } = await openCalls(root)
      await page.getByLabel('Admin token').waitFor()
      let isAnswered = false
      await page.route('**/api/calls/stream*', async (route) => {
        // Longer than a page needs to paint.
        await page.waitForTimeout(200)
        expect(await page.evaluate(() => (window as unknown as { texts: string[] }).texts)).toEqual([])
        isAnswered = true
        await route.continue()
      })
      await page.evaluate(() => {
        const texts: string[] = []
        Object.assign(window, { texts })
        new MutationObserver(() => {
          if (document.body.textContent?.includes('rejected this token')) texts.push('rejected')
        }).observe(document.body, { childList: true, subtree: true, characterData: true })
      })
      await enterToken(page, 'wrong')
      await page.getByText('The gateway rejected this token.').waitFor()
      expect(isAnswered).toBe(true)
      await close()
    })

    it('filters calls', async () => {
      const { page, close } = await openCalls(root)
      await enterToken(page, adminToken)
      await page.locator('.call-row').nth(2).waitFor()
      await page.getByLabel('Upstream').fill('primary')
      await page.locator('.call-row').nth(1).waitFor({ state: 'detached' })
      expect(await page.locator('.call-row').textContent()).toContain('smart')
      await page.getByLabel('Upstream').fill('')
      await page.getByLabel('Status').selectOption('5xx')
      await page.getByText('No calls yet.').waitFor()
      await close()
    })

    it('shows losses by field', async () => {
      const { page, close } = await openCalls(root)
      await enterToken(page, adminToken)
      await page.locator('.call-row', { hasText: 'loss' }).click()
      await page.getByText('/top_k').waitFor()
      await close()
    })

    it('opens the tab of the Playground that makes calls of the operation', async () => {
      const embedded = await ask(root, { model: 'embedder', input: 'Hello' }, '/v1/embeddings')
      const { page, close } = await openCalls(root)
      await enterToken(page, adminToken)
      await page.locator('.call-row', { hasText: 'embedder' }).click()
      await page.locator('.call-figures', { hasText: embedded }).waitFor()
      const href = await page.getByRole('link', { name: 'Open in Playground' }).getAttribute('href')
      const { page: playground, close: closePlayground } = await open(new URL(href ?? '', page.url()).href)
      await playground.getByRole('heading', { name: 'Embeddings' }).waitFor()
      expect(await playground.getByLabel('Model', { exact: true }).inputValue()).toBe('embedder')
      await closePlayground()
      await close()
    })

    it('takes the token from the fragment, and removes it from the address bar', async () => {
      const { page, close } = await open(`${root}/console/calls#token=${adminToken}`)
      await page.locator('.call-row').first().waitFor()
      expect(page.url()).toBe(`${root}/console/calls`)
      expect(await page.evaluate(() => ({ ...localStorage }))).toEqual({})
      await page.getByRole('button', { name: 'Forget token' }).click()
      await page.getByLabel('Admin token').waitFor()
      expect(await page.evaluate(() => ({ ...sessionStorage }))).toEqual({})
      await close()
    })

    it.each([
      ['light', { width: 1280, height: 800 }],
      ['dark', { width: 1280, height: 800 }],
      ['light', { width: 390, height: 844 }],
      ['dark', { width: 390, height: 844 }],
    ] as const)('has no serious accessibility violation in %s at %j', async (colorScheme, viewport) => {
      const { page, close } = await openCalls(root, { colorScheme, viewport })
      await page.getByLabel('Admin token').waitFor()
      expect(await seriousViolations(page)).toEqual([])
      await enterToken(page, adminToken)
      await page.locator('.call-row', { hasText: 'smart' }).click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      expect(await seriousViolations(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
      await close()
    })
  })
})
