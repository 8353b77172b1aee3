import { anthropic, openai } from '@modelgate/core'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { closeBrowser, open, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { checkToken, type Scene, serveDemo, unexpected } from './playground.test-support.ts'

const at = { apiKey: 'sk-upstream-0123456789', baseURL: 'http://provider.test' }
const v1 = { ...at, baseURL: 'http://provider.test/v1', formats: ['chat'] } as const
const places = [
  ['Hono', '', 'light', { width: 1280, height: 800 }],
  ['Hono', '/ai', 'dark', { width: 390, height: 844 }],
  ['node:http', '/ai', 'light', { width: 390, height: 844 }],
  ['node:http', '', 'dark', { width: 1280, height: 800 }],
] as const

describe.skipIf(withoutBrowser)('two models side by side in a browser', { timeout: 120_000 }, () => {
  let scene: Scene
  afterEach(() => scene.served.close())
  afterAll(closeBrowser)

  const serve = (host: string, mount: '' | '/ai', paceMs = 0): Promise<Scene> =>
    serveDemo(host, mount, paceMs, {
      upstreams: {
        // Nothing listens on this port of the machine.
        dead: openai({ ...at, baseURL: 'http://127.0.0.1:1/v1', formats: ['chat'] }),
        lively: anthropic(at),
        plain: openai(v1),
      },
      models: {
        gone: { upstream: 'dead', model: 'gone-model' },
        plain: { upstream: 'plain', model: 'gpt-plain' },
        rescued: {
          preferLossless: false,
          targets: [
            { upstream: 'dead', model: 'gone-model' },
            { upstream: 'lively', model: 'claude-opus-5' },
          ],
        },
      },
      retry: { backoffMs: 1, budgetFloor: 100 },
      fetch: (input, init) => {
        const request = new Request(input, init)
        return new URL(request.url).port === '1' ? fetch(request) : scene.provider.fetch(request)
      },
    })

  async function compare(first: string, second: string, more: Parameters<typeof open>[1] = {}) {
    const opened = await open(scene.url, more)
    const { page } = opened
    await checkToken(page, 'right')
    await page.getByText('Valid token · 3 models available').waitFor()
    await page.getByLabel('Model', { exact: true }).fill(first)
    // Closes the list, which covers the switch.
    await page.keyboard.press('Tab')
    await page.getByLabel('Compare with a second model').check()
    await page.getByLabel('Second model', { exact: true }).fill(second)
    await page.keyboard.press('Tab')
    return opened
  }

  async function send(page: Page, text: string, rounds: number): Promise<void> {
    await page.getByLabel('Your question').fill(text)
    await page.getByLabel('Your question').press('Enter')
    await expect.poll(() => page.locator('.column article').count()).toBe(rounds * 2)
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' })
  }

  const row = (page: Page, name: string) =>
    page
      .getByRole('row', { name: new RegExp(`^${name}`) })
      .last()
      .locator('td')

  it.each(places)(
    'compares figures and texts, and keeps the histories apart, on %s at "%s" in %s at %j',
    async (host, mount, colorScheme, viewport) => {
      scene = await serve(host, mount)
      const { page, wrongs, close } = await compare('plain', 'rescued', { colorScheme, viewport })
      scene.provider.reply({ text: 'the old fox runs' }, { text: 'the fox runs fast' })
      await send(page, 'Hi', 1)
      await expect
        .poll(() => row(page, 'Responded').allTextContents())
        .toEqual(['plain gpt-plain', 'lively claude-opus-5', ''])
      await expect.poll(() => row(page, 'Cost').allTextContents()).toEqual(['$0.00125', '$0.00125', 'same'])
      expect((await row(page, 'Output tokens').allTextContents()).slice(0, 2)).toEqual([
        expect.stringMatching(/^\d+$/),
        expect.stringMatching(/^\d+$/),
      ])
      expect((await row(page, 'First event').allTextContents())[2]).toMatch(/^(same|[+−][\d.,]+ m?s)$/)
      await page.getByText('Differences of the texts').click()
      const marked = page.locator('.marked')
      // Either call may receive the first response.
      await expect
        .poll(async () =>
          (await marked.locator('del, ins').allTextContents()).map((text) => text.replace('second', 'first')),
        )
        .toEqual(['[only first: old ] ', '[only first: fast] '])
      expect(await seriousViolations(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)

      // Each model receives its own earlier response.
      const texts = await page.locator('.column article .markdown').allTextContents()
      const bodies: string[] = []
      page.on('request', (request) => {
        if (request.url().endsWith('/v1/chat/completions')) bodies.push(request.postData() ?? '')
      })
      await send(page, 'And then?', 2)
      expect(bodies.map((body) => JSON.parse(body) as { model: string; messages: unknown[] })).toMatchObject([
        { model: 'plain', messages: [{}, { role: 'assistant', content: texts[0]?.trim() }, { content: 'And then?' }] },
        {
          model: 'rescued',
          messages: [{}, { role: 'assistant', content: texts[1]?.trim() }, { content: 'And then?' }],
        },
      ])

      await page.reload()
      await expect.poll(() => page.locator('.column article').count()).toBe(4)
      await page.getByRole('button', { name: 'Keep rescued, the second conversation' }).click()
      expect(await page.getByRole('article', { name: 'Response of rescued' }).count()).toBe(2)
      expect(await page.getByRole('article').count()).toBe(2)
      expect(await page.getByLabel('Compare with a second model').isChecked()).toBe(false)
      await page.reload()
      await expect.poll(() => page.getByRole('article', { name: 'Response of rescued' }).count()).toBe(2)
      expect(unexpected(wrongs)).toEqual([])
      await close()
    },
  )

  it('shows the failure of one model beside the response of the other, and inspects the selected one', async () => {
    scene = await serve('Hono', '/ai')
    const { page, wrongs, close } = await compare('gone', 'plain')
    await send(page, 'Hi', 1)
    const second = page.getByRole('region', { name: 'Second model' })
    await second.getByText('You said: “Hi”').waitFor()
    await page.getByRole('region', { name: 'First model' }).getByRole('alert').waitFor()
    await expect
      .poll(() => row(page, 'Responded').allTextContents())
      .toEqual(['no upstream (502)', 'plain gpt-plain', ''])
    await page
      .getByText(/failed.*status 502\.$/)
      .first()
      .waitFor()
    await second.getByRole('button', { name: 'Inspect this call' }).click()
    await page.getByText('plain gpt-plain responded.').waitFor()
    await second.getByRole('button', { name: 'Retry' }).click()
    await second.getByText('2 of 2').waitFor()
    expect(await page.getByRole('region', { name: 'First model' }).locator('.branches').count()).toBe(0)
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('stops both calls with Esc', async () => {
    scene = await serve('Hono', '', 20)
    const { page, close } = await compare('plain', 'rescued')
    await page.getByLabel('Your question').fill('[[words:2000]]')
    await page.getByLabel('Your question').press('Enter')
    await expect
      .poll(() =>
        page
          .locator('.column')
          .getByText(/quick brown fox jumps/)
          .count(),
      )
      .toBe(2)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('.column').getByText('Stopped.', { exact: true }).count()).toBe(2)
    await expect.poll(() => scene.provider.stats).toMatchObject({ aborted: 2, open: 0 })
    await close()
  })
})
