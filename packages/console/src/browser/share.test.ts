import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeBrowser, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { ask, openPlayground, type Scene, serveDemo, unexpected } from './playground.test-support.ts'

const places = [
  { host: 'Express', mount: '' },
  { host: 'Hono', mount: '/ai' },
] as const

const share = async (page: Page, item: string): Promise<void> => {
  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByRole('button', { name: item }).click()
}

const linkTo = (scene: Scene, value: unknown): string =>
  `${scene.url}#share=${Buffer.from(JSON.stringify(value)).toString('base64url')}`

describe.skipIf(withoutBrowser)('sharing from the Playground', { timeout: 120_000 }, () => {
  afterAll(closeBrowser)

  describe.each(places)("on $host, mounted at '$mount/'", ({ host, mount }) => {
    let scene: Scene
    beforeAll(async () => {
      scene = await serveDemo(host, mount)
    })
    afterAll(() => scene.served.close())

    it('copies a link that fills in the prompt and the settings, sends nothing and has no token', async () => {
      const first = await openPlayground(scene.url)
      await first.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await first.page.getByLabel('System prompt').fill('Be brief – süß 🙂')
      await first.page.getByLabel('Your question').fill('What is a gateway?')
      await share(first.page, 'Copy link to prompt and settings')
      await first.page.getByText('Copied a link with the prompt and the settings.').waitFor()
      const link = await first.page.evaluate(() => navigator.clipboard.readText())
      expect(link).toContain(`${scene.url}#share=`)
      expect(Buffer.from(link.slice(link.indexOf('=') + 1), 'base64url').toString()).not.toMatch(/right|token/)
      await first.close()

      scene.provider.reset()
      const second = await openPlayground(link)
      await second.page.getByText('A link filled in the prompt and the settings').waitFor()
      expect(await second.page.getByLabel('Your question').inputValue()).toBe('What is a gateway?')
      expect(await second.page.getByLabel('System prompt').inputValue()).toBe('Be brief – süß 🙂')
      expect(second.page.url()).toBe(scene.url)
      expect(await seriousViolations(second.page)).toEqual([])
      expect(scene.provider.requests).toEqual([])
      await second.page.getByLabel('Your question').press('Enter')
      await second.page.getByRole('article').getByText('You said').waitFor()
      expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain('Be brief – süß 🙂')
      expect(unexpected([...first.wrongs, ...second.wrongs])).toEqual([])
      await second.close()
    })

    it('exports a conversation and imports it elsewhere', async () => {
      const first = await openPlayground(scene.url)
      await ask(first.page, 'One')
      await ask(first.page, 'Two')
      const download = first.page.waitForEvent('download')
      await share(first.page, 'Export conversation')
      // The browser deletes its file at the end.
      const buffer = readFileSync(await (await download).path())
      const file = { name: 'conversation.json', mimeType: 'application/json', buffer }
      const text = buffer.toString()
      expect(text).not.toMatch(/right|bearer/i)
      expect(JSON.parse(text)).toMatchObject({ version: 1, rounds: [{ question: { text: 'One' } }, {}] })
      await first.close()

      const { page, close, wrongs } = await openPlayground(scene.url)
      await page.getByLabel('File with a conversation').setInputFiles(file)
      await page.getByText('Imported 2 calls.').waitFor()
      expect(await page.getByRole('article').count()).toBe(2)
      await ask(page, 'Three')
      expect(scene.provider.requests.at(-1)?.body).toMatchObject({
        messages: [{ content: 'One' }, {}, { content: 'Two' }, {}, { content: 'Three' }],
      })

      // Replacing a conversation is confirmed.
      const asked = page.waitForEvent('dialog')
      const importing = page.getByLabel('File with a conversation').setInputFiles(file)
      await (await asked).dismiss()
      await importing
      expect(await page.getByRole('article').count()).toBe(3)
      page.once('dialog', (dialog) => void dialog.accept())
      await page.getByLabel('File with a conversation').setInputFiles(file)
      await expect.poll(() => page.getByRole('article').count()).toBe(2)
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })
  })

  describe('hostile input', () => {
    let scene: Scene
    beforeAll(async () => {
      scene = await serveDemo('Hono', '')
    })
    afterAll(() => scene.served.close())

    it.each([
      ['a damaged link', () => `${scene.url}#share=eyJ2IjoxL`],
      ['a link of another program', () => linkTo(scene, { v: 9, prompt: 'x' })],
      ['a link with an unknown format', () => linkTo(scene, { v: 1, format: 'evil', prompt: 'x' })],
    ])('%s is reported and changes nothing', async (_, link) => {
      const { page, close } = await openPlayground(link())
      await page.getByText('The link is damaged').waitFor()
      expect(await page.getByLabel('Your question').inputValue()).toBe('')
      await close()
    })

    it('fields of another type and unknown fields of a link are ignored', async () => {
      const link = `${scene.url}#share=${Buffer.from(
        '{"v":1,"format":"chat","prompt":"Hi","system":{"a":1},"__proto__":{"polluted":true},"url":"http://evil.test"}',
      ).toString('base64url')}`
      const { page, close, wrongs } = await openPlayground(link)
      await page.getByText('A link filled in').waitFor()
      expect(await page.getByLabel('System prompt').inputValue()).toBe('')
      await page.getByLabel('Your question').press('Enter')
      await page.getByRole('article').getByText('You said: “Hi”').waitFor()
      expect(await page.evaluate(() => 'polluted' in {})).toBe(false)
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })

    it.each([
      ['no JSON', 'x', 'it is not JSON'],
      ['another file', '{"a":1}', 'it is not a conversation that the Playground exported'],
      ['null', 'null', 'it is not a conversation that the Playground exported'],
      ['no rounds', '{"version":1}', 'it has no list of rounds'],
      ['a damaged round', '{"version":1,"rounds":[null]}', 'round 1 is damaged'],
      ['a cycle', JSON.stringify({ version: 1, rounds: [{ id: 1, parent: 1 }] }), 'round 1 is damaged'],
    ])('a file with %s is reported', async (_, text, why) => {
      const { page, close, wrongs } = await openPlayground(scene.url)
      await page
        .getByLabel('File with a conversation')
        .setInputFiles({ name: 'file.json', mimeType: 'application/json', buffer: Buffer.from(text) })
      await page.getByText(`file.json was not imported: ${why}.`).waitFor()
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })
  })
})
