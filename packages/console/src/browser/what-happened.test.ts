import { anthropic, openai } from '@modelgate/core'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { closeBrowser, open, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { ask, checkToken, type Scene, serveDemo, unexpected } from './playground.test-support.ts'

const at = { apiKey: 'sk-upstream-0123456789', baseURL: 'http://provider.test' }
const screens = [
  ['light', { width: 1280, height: 800 }],
  ['dark', { width: 390, height: 844 }],
] as const

describe.skipIf(withoutBrowser)('“What happened” in a browser', { timeout: 120_000 }, () => {
  let scene: Scene
  // A gateway for each test: failures of one must not open the circuit of another.
  beforeEach(async () => {
    scene = await serveDemo('Express', '/ai', 0, {
      upstreams: {
        // Nothing listens on this port of the machine.
        dead: openai({ ...at, baseURL: 'http://127.0.0.1:1/v1', formats: ['chat'] }),
        lively: anthropic(at),
        patient: openai({ ...at, baseURL: 'http://provider.test/v1', formats: ['chat'] }),
      },
      models: {
        gone: { upstream: 'dead', model: 'gone-model' },
        rescued: {
          preferLossless: false,
          targets: [
            { upstream: 'dead', model: 'gone-model' },
            { upstream: 'lively', model: 'claude-opus-5' },
          ],
        },
        busy: { upstream: 'patient', model: 'gpt-busy' },
      },
      retry: { backoffMs: 1, budgetFloor: 100 },
      fetch: (input, init) => {
        const request = new Request(input, init)
        return new URL(request.url).port === '1' ? fetch(request) : scene.provider.fetch(request)
      },
    })
  })
  afterEach(() => scene.served.close())
  afterAll(closeBrowser)

  async function call(model: string, more: Parameters<typeof open>[1] = {}) {
    const opened = await open(scene.url, more)
    const { page } = opened
    await checkToken(page, 'right')
    await page.getByText('Valid token · 3 models available').waitFor()
    await page.getByLabel('Model', { exact: true }).fill(model)
    await page.getByLabel('Temperature').fill('0.5')
    await ask(page, 'Hi')
    await page.locator('.attempt').first().waitFor()
    await page.getByText('Client request').waitFor()
    const rows = await page.locator('.attempt').allTextContents()
    return { ...opened, rows, verdict: page.locator('.verdict') }
  }

  it.each(screens)(
    'makes no good statement about a call to a dead upstream, in %s at %j',
    async (colorScheme, viewport) => {
      const { page, rows, verdict, wrongs, close } = await call('gone', { colorScheme, viewport })
      expect(rows.length).toBeGreaterThan(0)
      for (const row of rows) expect(row).toMatch(/dead gone-model.*upstream unreachable$/)
      expect(await verdict.textContent()).toMatch(/failed.*status 502\.$/)
      expect(await verdict.getAttribute('class')).toBe('verdict bad')
      const inspector = page.locator('.pane.request')
      expect(await inspector.locator('.good, .whole').count()).toBe(0)
      expect(await inspector.textContent()).not.toMatch(/No losses/)
      expect(await seriousViolations(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
      expect(unexpected(wrongs)).toEqual([])
      await close()
    },
  )

  it.each(screens)('shows the target that responded after a fallback, in %s at %j', async (colorScheme, viewport) => {
    const { page, rows, verdict, wrongs, close } = await call('rescued', { colorScheme, viewport })
    expect(rows.at(0)).toMatch(/dead gone-model.*upstream unreachable$/)
    expect(rows.at(-1)).toMatch(/lively claude-opus-5.*fallback.*200responded$/)
    expect(await verdict.textContent()).toMatch(/^lively claude-opus-5 responded after .*failed attempt/)
    // The comparison is that of the target that responded: its format requires max_tokens.
    await page.getByText('Request to lively claude-opus-5').waitFor()
    expect(await page.locator('.json .origin-new', { hasText: '"max_tokens"' }).count()).toBe(1)
    // Each place shows the same numbers.
    const words = (await page.locator('.loss-notice strong').textContent())?.replace(' in the response', '')
    expect(words).toMatch(/\d+ (?:loss|note)/)
    await page.getByRole('heading', { name: `${words} in the translation`, exact: true }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('shows a 429, and the wait before the success', async () => {
    scene.provider.reply({ status: 429, headers: { 'retry-after-ms': '30' } })
    const { page, rows, verdict, wrongs, close } = await call('busy')
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatch(/patient gpt-busy.*first attempt.*429rate limited$/)
    expect(rows[1]).toMatch(/patient gpt-busy.*retry after a wait of \d+ ms.*200responded$/)
    expect(await verdict.textContent()).toBe('patient gpt-busy responded after a failed attempt.')
    await page.getByText('No losses: every field reached the upstream.').waitFor()
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('says that a rejected call reached no upstream', async () => {
    const { page, close } = await open(scene.url)
    await checkToken(page, 'right')
    await page.getByText('Valid token · 3 models available').waitFor()
    await page.getByLabel('Model', { exact: true }).fill('unknown')
    await ask(page, 'Hi')
    await page.getByText('The gateway rejected the call with status 404. No upstream was called.').waitFor()
    expect(await page.locator('.pane.request').locator('.good, .whole, .attempt').count()).toBe(0)
    await close()
  })
})
