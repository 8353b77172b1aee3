import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anthropic, createGateway, openai, type Plugin } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consolePages } from '../index.ts'
import { closeBrowser, hosts, open, type Served, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { ask, checkToken } from './playground.test-support.ts'

const prices: Plugin = {
  name: 'prices',
  priceOf: ({ model }) => (model === 'gpt-5.4' ? { currency: 'USD', input: 1.25, output: 10 } : undefined),
}

afterAll(closeBrowser)

describe.skipIf(withoutBrowser)('the settings of the Playground', { timeout: 120_000 }, () => {
  const apiKey = 'sk-upstream-0123456789'
  const provider = createFakeProvider({ apiKey })
  let served: Served
  let url: string
  beforeAll(async () => {
    const [host] = hosts
    if (host === undefined) throw new Error('no host')
    served = await host.serve('/ai', (_, config = {}) =>
      createGateway({
        auth: (token) => (token === 'right' ? { id: 'me' } : null),
        upstreams: {
          openai: openai({
            apiKey,
            baseURL: 'http://provider.test/v1',
            modelRules: [{ model: 'gpt-5.4', like: 'gpt-5.4', contextWindow: 400_000 }],
          }),
          claude: anthropic({ apiKey, baseURL: 'http://provider.test' }),
        },
        models: {
          'gpt-5.4': 'openai',
          'claude-demo': 'claude',
          'text-embedding-3-small': 'openai',
          'gpt-*': 'openai',
        },
        fetch: provider.fetch,
        plugins: [prices, consolePages()],
        logger: false,
        ...config,
      }),
    )
    url = `${served.origin}/ai/console/playground`
  })
  afterAll(() => served.close())

  const start = async (options?: Parameters<typeof open>[1]) => {
    const opened = await open(url, options)
    await checkToken(opened.page, 'right')
    await opened.page.getByText('Valid token · 3 models available').waitFor()
    return opened
  }
  const modelField = (page: Page) => page.getByRole('combobox', { name: 'Model' })

  it('offers the models that chat, with their facts, and searches them by keyboard', async () => {
    const { page, wrongs, close } = await start()
    const field = modelField(page)
    await field.click()
    expect(await page.getByRole('listbox', { name: 'Models' }).locator('.mono').allTextContents()).toEqual([
      'gpt-5.4',
      'claude-demo',
    ])
    const first = await page.getByRole('listbox', { name: 'Models' }).getByRole('option').first().textContent()
    expect(first).toContain('400K context')
    expect(first).toContain('$1.25 in / M')
    expect(await seriousViolations(page)).toEqual([])
    await field.fill('clau')
    expect(await page.getByRole('listbox', { name: 'Models' }).getByRole('option').count()).toBe(1)
    await field.press('ArrowDown')
    expect(await field.getAttribute('aria-activedescendant')).toBe('model-0')
    await field.press('Enter')
    expect(await field.inputValue()).toBe('claude-demo')
    expect(await field.getAttribute('aria-expanded')).toBe('false')
    await field.press('ArrowUp')
    await field.press('Enter')
    expect(await field.inputValue()).toBe('gpt-5.4')
    await field.fill('gpt-unlisted')
    await page.getByText('Not listed: patterns accept more names.').waitFor()
    await ask(page, 'Hi')
    expect(provider.requests.at(-1)?.body).toMatchObject({ model: 'gpt-unlisted' })
    expect(wrongs).toEqual([])
    await close()
  })

  it('fills in an example with its settings, and sends it', async () => {
    const { page, wrongs, close } = await start()
    await page.getByRole('button', { name: 'Describe an image' }).click()
    await page.getByRole('button', { name: 'Remove shapes.png' }).waitFor()
    await page.getByRole('button', { name: 'Return JSON' }).click()
    expect(await page.getByLabel('Your question').inputValue()).toMatch(/table 7/)
    await page.getByLabel('Your question').press('Enter')
    await page.locator('article[aria-busy=false]').last().waitFor()
    expect(provider.requests.at(-1)?.body).toHaveProperty('response_format.json_schema.schema.properties.table')
    expect(wrongs).toEqual([])
    await close()
  })

  it('saves, loads and deletes presets, without the token', async () => {
    const { page, close } = await start()
    await page.getByText('Presets', { exact: true }).click()
    await page.getByLabel('Temperature').fill('0.3')
    await page.getByLabel('Client format').selectOption('gemini')
    await page.getByLabel('Save these settings as').fill('Careful')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Delete “Careful”' }).waitFor()
    expect(await page.evaluate(() => localStorage.getItem('modelgate-presets'))).not.toContain('right')
    await page.getByLabel('Temperature').fill('1')
    await page.reload()
    await page.getByText('Valid token').waitFor()
    await page.getByText('Presets', { exact: true }).click()
    await page.getByLabel('Preset', { exact: true }).selectOption('Careful')
    expect(await page.getByLabel('Temperature').inputValue()).toBe('0.3')
    expect(await page.getByLabel('Client format').inputValue()).toBe('gemini')
    await page.getByRole('button', { name: 'Delete “Careful”' }).click()
    expect(await page.evaluate(() => localStorage.getItem('modelgate-presets'))).toBe('{}')
    await close()
  })

  const pdf = { name: 'report.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 small') }
  const sound = { name: 'voice.wav', mimeType: 'audio/x-wav', buffer: Buffer.from('RIFF small') }

  it.each([
    ['chat', ['"type":"file"', '"filename":"report.pdf"', '"input_audio"', '"format":"wav"']],
    ['responses', ['"input_file"', '"filename":"report.pdf"', '"input_audio"']],
    ['messages', ['"type":"document"', '"title":"report.pdf"', '"media_type":"application/pdf"']],
    ['gemini', ['"mimeType":"application/pdf"', '"mimeType":"audio/wav"']],
  ] as const)('sends a PDF and audio as %s clients do', async (format, parts) => {
    const { page, wrongs, close } = await start()
    await page.getByLabel('Client format').selectOption(format)
    const files = page.locator('input[type=file][multiple]')
    await files.setInputFiles([pdf, sound])
    if (format === 'messages') {
      await page.getByText('Messages has no audio input: choose another client format.').waitFor()
      await page.getByRole('button', { name: 'Remove voice.wav' }).click()
    }
    const sent = page.waitForRequest((request) => request.method() === 'POST' && !request.url().includes('explain'))
    await page.getByLabel('Your question').fill('Read this')
    await page.getByLabel('Your question').press('Enter')
    const body = (await sent).postData() ?? ''
    for (const part of parts) expect(body).toContain(part)
    await page.locator('.bubble').getByText('report.pdf').waitFor()
    expect(wrongs.filter((wrong) => !wrong.includes('Failed to load resource'))).toEqual([])
    await close()
  })

  it('reports that attachments are too large to keep, and shows their names after a reload', async () => {
    const { page, close } = await start()
    const big = { ...pdf, buffer: Buffer.alloc(4 * 1024 * 1024, 'x') }
    // A file, because a buffer of this size takes seconds to reach the browser.
    const folder = mkdtempSync(join(tmpdir(), 'modelgate-settings-'))
    const path = join(folder, 'report.pdf')
    writeFileSync(path, Buffer.alloc(11 * 1024 * 1024))
    await page.locator('input[type=file][multiple]').setInputFiles(path)
    await page.getByText('“report.pdf” has 11.0 MB; the limit is 10 MB.').waitFor()
    await page.locator('input[type=file][multiple]').setInputFiles(big)
    await page.getByRole('button', { name: 'Remove report.pdf' }).waitFor()
    await ask(page, 'Read this')
    await page.getByText('The attachments are too large to keep').waitFor()
    await page.reload()
    await page.getByText('report.pdf (not kept)').waitFor()
    await close()
    rmSync(folder, { recursive: true })
  })

  it.each(['light', 'dark'] as const)(
    'has no serious accessibility violation with attachments and a list, in %s',
    async (colorScheme) => {
      for (const viewport of [
        { width: 1280, height: 800 },
        { width: 390, height: 844 },
      ]) {
        const { page, close } = await start({ colorScheme, viewport })
        await page.locator('input[type=file][multiple]').setInputFiles([pdf, sound])
        await page.getByRole('button', { name: 'Remove voice.wav' }).waitFor()
        expect(await seriousViolations(page)).toEqual([])
        await modelField(page).click()
        expect(await seriousViolations(page)).toEqual([])
        const { SCREENSHOTS: folder } = process.env
        if (folder !== undefined) await page.screenshot({ path: `${folder}-${colorScheme}-${viewport.width}.png` })
        await close()
      }
    },
  )
})
