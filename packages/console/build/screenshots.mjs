// Pictures of the pages for the documents: `node packages/console/build/screenshots.mjs`, after `node .ci/setup.mjs`.
// They are taken with the system's Chromium (CHROMIUM_PATH, default /usr/bin/chromium) and written to docs/images/.
import { mkdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createGateway, openaiCompatible } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { chromium } from 'playwright-core'
import { consolePages } from '../dist/index.js'

const folder = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
/** So that the address in the picture is the one in the documents. */
const port = Number(process.env.PORT ?? 8787)
const maxBytes = 150_000
const pages = { home: '/', playground: '/console/playground' }
const screens = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } }

const gateway = createGateway({
  auth: () => null,
  upstreams: { none: openaiCompatible({ baseURL: 'http://upstream.invalid/v1' }) },
  models: { model: 'none' },
  plugins: [consolePages()],
})
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
      const file = `${folder}console-${name}-${colorScheme}-${screen}.png`
      await page.screenshot({ path: file })
      await page.close()
      const { size } = statSync(file)
      if (size > maxBytes) throw new Error(`${file} is ${size} bytes: more than ${maxBytes}.`)
    }
await browser.close()
server.close()
server.closeAllConnections()
