// Takes the pictures of the pages for the documentation: `node packages/console/build/screenshots.mjs`, after
// `node .ci/setup.mjs`. Needs the system's Chromium (CHROMIUM_PATH, default /usr/bin/chromium) and writes to docs/images/.
import { mkdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createGateway, openai } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { createFakeProvider } from '@modelgate/testing'
import { chromium } from 'playwright-core'
import { consolePages } from '../dist/index.js'

const folder = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
/** Fixed port: the picture shows the same address as the documentation. */
const port = Number(process.env.PORT ?? 8787)
const maxBytes = 200_000
const pages = { home: '/', playground: '/console/playground' }
const screens = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } }

const provider = createFakeProvider({
  paceMs: 15,
  brain: () => ({
    thinking: 'They want a short comparison. A table is the clearest.',
    text: 'Three ways to hold a place in a queue:\n\n| way | fair | cost |\n|---|---|---|\n| ticket | **yes** | a number |\n| standing | mostly | your legs |\n| asking | no | your friends |\n\n```js\nconst next = (queue) => queue.shift()\n```\n\nI would take the ticket.',
    usage: { input: 412, cacheRead: 256, output: 96, reasoning: 24 },
  }),
})
const gateway = createGateway({
  auth: (token) => (token === 'mg-demo' ? { id: 'demo' } : null),
  upstreams: { openai: openai({ apiKey: 'any', formats: ['chat'] }) },
  models: { 'demo-chat': 'openai', 'demo-fast': 'openai' },
  plugins: [{ name: 'prices', costOf: () => ({ amount: 0.00184, currency: 'USD' }) }, consolePages()],
  fetch: provider.fetch,
})

/** Makes a conversation in the Playground with a loss. @param {import('playwright-core').Page} page */
async function talk(page) {
  await page.getByLabel('Token', { exact: true }).fill('mg-demo')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText(/2 models/).waitFor()
  await page.getByLabel('Client format').selectOption('messages')
  await page.getByLabel('Model', { exact: true }).selectOption('demo-chat')
  await page.getByLabel('Your question').fill('Compare three ways to hold a place in a queue, in a table.')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('$0.00184').first().waitFor()
  const upstream = page.getByRole('tab', { name: 'Upstream' })
  if (await upstream.isVisible()) await upstream.click()
  const wider = page.getByRole('button', { name: 'Wider' })
  if (await wider.isVisible()) await wider.click()
  await page.waitForTimeout(500)
}
const server = createServer(nodeListener(gateway))
await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)))
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
mkdirSync(folder, { recursive: true })
for (const [name, path] of Object.entries(pages))
  for (const colorScheme of /** @type {const} */ (['light', 'dark']))
    for (const [screen, viewport] of Object.entries(screens)) {
      const page = await browser.newPage({ colorScheme, viewport })
      await page.goto(`http://localhost:${port}${path}`, { waitUntil: 'networkidle' })
      if (name === 'playground') await talk(page)
      const file = `${folder}console-${name}-${colorScheme}-${screen}.png`
      await page.screenshot({ path: file })
      await page.close()
      const { size } = statSync(file)
      if (size > maxBytes) throw new Error(`${file} is ${size} bytes: more than ${maxBytes}.`)
    }
await browser.close()
server.close()
server.closeAllConnections()
