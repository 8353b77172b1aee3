import { closeBrowser, open, withoutBrowser } from '@modelgate/console/test-support/browser'
import { createFakeProvider, listen } from '@modelgate/testing'
import { afterAll, describe, expect, it } from 'vitest'
import { createTestContext } from '../terminal/command-context.test-support.ts'
import { serve } from './serve.ts'

const adminToken = 'canary-admin-token'

describe.skipIf(withoutBrowser)('the pages of the command in a browser', { timeout: 120_000 }, () => {
  afterAll(closeBrowser)

  it.each(['', '/ai'])("below '%s' link each other, and show a token, its calls and its usage", async (basePath) => {
    const provider = await listen(createFakeProvider({ apiKey: 'k' }))
    const config = {
      upstreams: { one: { provider: 'openai', apiKey: 'k', baseURL: provider.url } },
      models: { fast: { upstream: 'one', model: 'gpt-5-mini' } },
      token: 'static-token',
      data: 'data',
      ledger: 'ledger',
      ...(basePath === '' ? {} : { basePath }),
    }
    const server = createTestContext(
      { 'modelgate.config.json': JSON.stringify(config) },
      { MODELGATE_ADMIN_TOKEN: adminToken },
    )
    const serving = await serve(server, { port: '0' })
    const root = `http://127.0.0.1:${serving.port}${basePath}`
    const call = async (token: string): Promise<number> => {
      const response = await fetch(`${root}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] }),
      })
      await response.text()
      return response.status
    }

    const { page, wrongs, close } = await open(`${root}/`)
    const follow = (name: string): Promise<void> =>
      page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click()
    await follow('Tokens')
    await page.getByLabel('Admin token').fill(adminToken)
    await page.getByRole('button', { name: 'Show tokens' }).click()
    await page.getByRole('link', { name: 'Issue token' }).click()
    await page.getByLabel('Name').fill('laptop')
    await page.getByRole('button', { name: 'Add limit' }).click()
    await page.getByLabel('Requests').fill('30')
    await page.getByRole('button', { name: 'Issue token' }).click()
    await page.getByText("It won't be shown again.").waitFor()
    const secret = (await page.locator('.notice code').textContent()) ?? ''
    expect([await call(secret), await call('static-token')]).toEqual([200, 200])

    await follow('Usage')
    await page.locator('.admin-table tfoot', { hasText: 'Total2' }).waitFor()
    expect((await page.locator('.admin-table tbody').textContent()) ?? '').toContain('laptopfast1')
    expect(await page.locator('.token-budgets').textContent()).toContain('1 of 30')
    await follow('Calls')
    await page.locator('.call-row', { hasText: 'laptop' }).waitFor()
    await follow('Playground')
    await page.getByRole('heading', { name: 'Playground' }).waitFor()
    await page.getByRole('link', { name: 'Modelgate' }).click()
    await page.getByRole('heading', { name: 'One address for every model client' }).waitFor()
    expect(page.url()).toBe(`${root}/`)
    // Chromium logs the response that asks for the admin token.
    expect(wrongs.filter((text) => !/status of 401/.test(text))).toEqual([])
    await close()
    await serving.stop()
    await provider.close()
  })

  it.each(['', '/ai'])("below '%s' call every demo model that does not chat in the Playground", async (basePath) => {
    const server = createTestContext(basePath === '' ? {} : { 'modelgate.config.json': JSON.stringify({ basePath }) }, {
      MODELGATE_TOKEN: 'static-token',
    })
    const serving = await serve(server, { port: '0' })
    const root = `http://127.0.0.1:${serving.port}${basePath}`
    const { page, wrongs, close } = await open(`${root}/console/playground#token=static-token`)
    await page.getByText('Valid token · 10 models available').waitFor()
    const run = async (tab: string, model: string, action: string): Promise<void> => {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('heading', { name: tab }).waitFor()
      await page.getByRole('button', { name: action, exact: true }).click()
      await page.locator('.run article[aria-busy=false]', { hasText: model }).waitFor()
      await page.getByText(`${model} responded.`).waitFor()
    }
    for (const [tab, model, action] of [
      ['Embeddings', 'demo-embedding', 'Compare'],
      ['Images', 'demo-image', 'Generate'],
      ['Rerank', 'demo-rerank', 'Rerank'],
      ['Speech', 'demo-speech', 'Speak'],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('button', { name: 'Example' }).click()
      await run(tab, model, action)
    }
    await page.getByRole('button', { name: 'Transcribe it' }).click()
    await run('Transcription', 'demo-transcribe', 'Transcribe')
    await page.locator('.transcript', { hasText: /^I heard [\d.]+ seconds of sound\./ }).waitFor()
    expect(wrongs).toEqual([])
    await close()
    await serving.stop()
  })
})
