import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consolePages } from '../index.ts'
import {
  closeBrowser,
  consoleGateway,
  hosts,
  open,
  type Served,
  seriousViolations,
  withoutBrowser,
} from './browser.test-support.ts'

/** Each host, at its root and below a path in turn: the adapters have their own tests of every mount. */
const places = hosts.map((host, at) => ({ ...host, mount: at % 2 === 0 ? ('' as const) : ('/ai' as const) }))

describe.skipIf(withoutBrowser)('the home page in a browser', { timeout: 120_000 }, () => {
  afterAll(closeBrowser)

  describe.each(places)("on $name, mounted at '$mount/'", ({ serve, mount }) => {
    let served: Served
    beforeAll(async () => {
      served = await serve(mount)
    })
    afterAll(() => served.close())

    it('shows the address and status of the API, and links to the Playground', async () => {
      const { page, wrongs, close } = await open(`${served.origin}${mount}/`)
      expect(await page.getByTestId('address').textContent()).toBe(`${served.origin}${mount}/v1`)
      await page.getByText('Healthy').waitFor()
      const endpoint = page.getByText('/v1/chat/completions', { exact: true })
      expect(await endpoint.isVisible()).toBe(false)
      await page.getByRole('heading', { name: 'Generation' }).click()
      expect(await endpoint.isVisible()).toBe(true)
      await page.getByRole('link', { name: 'Open the Playground' }).click()
      await page.getByRole('heading', { name: 'Conversation' }).waitFor()
      expect(page.url()).toBe(`${served.origin}${mount}/console/playground`)
      await page.getByRole('link', { name: 'Modelgate' }).click()
      await page.getByText('Healthy').waitFor()
      expect(page.url()).toBe(`${served.origin}${mount}/`)
      expect(wrongs).toEqual([])
      await close()
    })
  })

  describe('behind one host', () => {
    let served: Served
    const at = (path: string): string => served.origin + path
    beforeAll(async () => {
      served = await (hosts.find(({ name }) => name === 'Express') as (typeof hosts)[number]).serve('/ai')
    })
    afterAll(() => served.close())

    it.each([
      [200, 'Ready'],
      [503, 'Not ready'],
      [404, 'Healthy'],
    ])('shows the readiness that the gateway reports with %i as %j', async (status, text) => {
      const readiness = { method: 'GET', path: '/readyz', handle: () => ({ status, headers: {}, body: '{}' }) } as const
      const make: typeof consoleGateway = () =>
        consoleGateway({}, { plugins: [consolePages(), { name: 'readiness', routes: [readiness] }] })
      const own = await (hosts.find(({ name }) => name === 'Hono') as (typeof hosts)[number]).serve('/ai', make)
      const { page, close } = await open(`${own.origin}/ai/`)
      await page.getByRole('status').getByText(text, { exact: true }).waitFor()
      await close()
      await own.close()
    })

    it('links to the documentation, if its address is configured', async () => {
      const make: typeof consoleGateway = () => consoleGateway({ documentation: '/handbook' })
      const own = await (hosts.find(({ name }) => name === 'Hono') as (typeof hosts)[number]).serve('', make)
      const { page, wrongs, close } = await open(`${own.origin}/`)
      const link = page.getByRole('link', { name: 'Documentation' })
      await link.waitFor()
      expect(await link.evaluate((element) => (element as HTMLAnchorElement).href)).toBe(`${own.origin}/handbook`)
      expect(await seriousViolations(page)).toEqual([])
      expect(wrongs).toEqual([])
      await close()
      await own.close()
    })

    it('adds the slash that its address lacks', async () => {
      const { page, wrongs, close } = await open(at('/ai?from=here'))
      await page.getByText('Healthy').waitFor()
      expect(page.url()).toBe(at('/ai/?from=here'))
      // The browser may prefetch files of the page it is leaving; the host's response to that does not matter.
      const aheadOfTime = /^console: (?:Refused to apply style from|Failed to load resource)/
      expect(wrongs.filter((wrong) => !aheadOfTime.test(wrong))).toEqual([])
      await close()
    })

    it.each([
      ['Copy the API address', '/ai/v1'],
      ['Copy the base URL for Anthropic clients', '/ai'],
    ])('copies the text that belongs to %j', async (name, path) => {
      const { page, close } = await open(at('/ai/'))
      await page.getByRole('button', { name }).click()
      await page.getByText(name.replace('Copy', 'Copied')).waitFor({ state: 'attached' })
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(at(path))
      await close()
    })

    it('copies in browsers without a clipboard for insecure pages', async () => {
      const { page, wrongs, close } = await open(at('/ai/'))
      await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
      await page.getByRole('button', { name: 'Copy the API address' }).click()
      await page.getByText('Copied the API address').waitFor({ state: 'attached' })
      expect(wrongs).toEqual([])
      await close()
    })

    it('switches snippets by arrow keys', async () => {
      const { page, close } = await open(at('/ai/'))
      const chosen = () => page.getByRole('tab', { selected: true }).textContent()
      await page.getByRole('tab', { name: 'curl' }).focus()
      for (const [key, title] of [
        ['ArrowRight', 'openai'],
        ['End', 'Gemini CLI'],
        ['ArrowRight', 'curl'],
        ['ArrowLeft', 'Gemini CLI'],
        ['Home', 'curl'],
      ] as const) {
        await page.keyboard.press(key)
        expect(await chosen()).toBe(title)
        expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(title)
      }
      await close()
    })

    it('lets the keyboard reach every part', async () => {
      const { page, close } = await open(at('/ai/'))
      const wanted = await page.evaluate(
        () =>
          [...document.querySelectorAll<HTMLElement>('a[href], button, summary, [tabindex="0"]')].filter(
            ({ tabIndex }) => tabIndex >= 0,
          ).length,
      )
      const reached = new Set<string>()
      for (let i = 0; i < wanted; i++) {
        await page.keyboard.press('Tab')
        reached.add(await page.evaluate(() => document.activeElement?.outerHTML ?? ''))
      }
      expect(reached.size).toBe(wanted)
      await close()
    })

    it.each([
      ['light', { width: 1280, height: 800 }],
      ['dark', { width: 360, height: 740 }],
    ] as const)('has no serious accessibility violation in %s at %j', async (colorScheme, viewport) => {
      const { page, close } = await open(at('/ai/'), { colorScheme, viewport })
      expect(await seriousViolations(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
      await page.goto(at('/ai/console/playground'))
      await page.getByRole('heading', { name: 'Conversation' }).waitFor()
      expect(await seriousViolations(page)).toEqual([])
      await close()
    })

    it('keeps the chosen color scheme, and stores nothing before a choice', async () => {
      const { page, close } = await open(at('/ai/'), { colorScheme: 'light' })
      const kept = () => page.evaluate(() => ({ ...localStorage }))
      expect(await kept()).toEqual({})
      await page.getByRole('button', { name: 'Switch to dark colors' }).click()
      expect(await kept()).toEqual({ 'modelgate-theme': 'dark' })
      await page.reload()
      expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
      await close()
    })

    it('shows the essentials without JavaScript', async () => {
      const { page, close } = await open(at('/ai/'), { javaScriptEnabled: false })
      expect(await page.locator('noscript').textContent()).toContain('/v1')
      await close()
    })
  })
})
