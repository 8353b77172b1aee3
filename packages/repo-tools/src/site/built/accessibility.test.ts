import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../base/chromium.mjs'
import { serveFolder, site } from './site.test-support.ts'

const executablePath = findChromium()
if (site !== undefined && executablePath === undefined)
  process.stderr.write(
    'documentation site: no Chromium found, browser tests are skipped (set CHROMIUM_PATH, or install chromium)\n',
  )

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeWindow {
  axe: {
    run(): Promise<{
      violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[]
    }>
  }
}

/** Returns axe's serious and critical violations, one line each. */
async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => (window as unknown as AxeWindow).axe.run())
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id} at ${node.target.join(' ')}: ${node.failureSummary}`))
}

const pages = [
  ['home', '/'],
  ['a guide page with tabs', '/guide/quick-start.html'],
  ['a page of reference tables', '/reference/errors.html'],
  ['an API page', '/reference/api/node.html'],
  ['a decision', '/decisions/0034-documentation-site.html'],
] as const

const themes = ['light', 'dark'] as const
const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } }

describe.skipIf(site === undefined || executablePath === undefined)('the documentation site in a browser', () => {
  let browser: Browser
  let server: Awaited<ReturnType<typeof serveFolder>>

  beforeAll(async () => {
    server = await serveFolder(site?.folder ?? '')
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser?.close()
    server?.close()
  })

  /** Runs the check in a new tab. With MODELGATE_SITE_SCREENSHOTS, a folder, it also saves a screenshot. */
  async function withPage<T>(path: string, theme: string, size: keyof typeof sizes, check: (page: Page) => Promise<T>) {
    const context = await browser.newContext({ viewport: sizes[size], reducedMotion: 'reduce' })
    try {
      await context.addInitScript((value) => localStorage.setItem('vitepress-theme-appearance', value), theme)
      const page = await context.newPage()
      await page.goto(server.origin + path, { waitUntil: 'load' })
      // Vue has taken over the static page.
      await page.waitForFunction(() => '__vue_app__' in (document.querySelector('#app') ?? {}), { timeout: 10_000 })
      const { MODELGATE_SITE_SCREENSHOTS: folder } = process.env
      if (folder !== undefined) {
        mkdirSync(folder, { recursive: true })
        const name = path.replaceAll('/', '-').replace('.html', '')
        await page.screenshot({ path: join(folder, `${name}-${theme}-${size}.png`) })
      }
      return await check(page)
    } finally {
      await context.close()
    }
  }

  describe.each(themes)('with the %s theme', (theme) => {
    it.each(pages)('has no serious accessibility violations on %s', async (_kind, path) => {
      const found = await withPage(path, theme, 'desktop', async (page) => {
        expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(theme === 'dark')
        return seriousViolations(page)
      })
      expect(found).toEqual([])
    })
  })

  it.each(pages)('fits the width of a phone on %s', async (_kind, path) => {
    const { content, screen } = await withPage(path, 'light', 'phone', (page) =>
      page.evaluate(() => ({ content: document.documentElement.scrollWidth, screen: window.innerWidth })),
    )
    expect(content).toBeLessThanOrEqual(screen)
  })
})
