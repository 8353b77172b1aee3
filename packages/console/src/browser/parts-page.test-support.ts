import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { nodeListener } from '@modelgate/node'
import { build } from 'esbuild'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { consoleGateway, type Opened, open, type Served } from './browser.test-support.ts'
import type { Wanted } from './parts-page.test-entry.tsx'

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

async function bundled(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [file(entry)],
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
    // Minified as in the package: tests measure sizes and times.
    minify: true,
  })
  return outputFiles[0]?.text ?? ''
}

/** Serves a gateway and a page that shows single components under the Playground's policy. */
export async function serveParts(gateway: ReturnType<typeof consoleGateway> = consoleGateway()): Promise<Served> {
  const policy = (await gateway.fetch(new Request('http://gateway/console/playground'))).headers
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Parts</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/parts/page.css"><script type="module" src="/parts/page.js"></script></head>
<body><main class="plain"><h1>Parts</h1><div id="app"></div></main></body></html>`
  const files = new Map([
    ['/parts/', { type: 'text/html', body: page }],
    ['/parts/page.js', { type: 'text/javascript', body: await bundled('./parts-page.test-entry.tsx') }],
    ['/parts/page.css', { type: 'text/css', body: await bundled('../ui/styles/console.css') }],
  ])
  const answer = nodeListener(gateway)
  const server = createServer((incoming, outgoing) => {
    const found = files.get(incoming.url ?? '')
    if (found === undefined) answer(incoming, outgoing)
    else
      outgoing
        .writeHead(200, {
          'content-type': `${found.type}; charset=utf-8`,
          'content-security-policy': policy.get('content-security-policy') ?? '',
        })
        .end(found.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export async function openParts(served: Served, options?: BrowserContextOptions): Promise<Opened> {
  const opened = await open(`${served.origin}/parts/`, options)
  return opened
}

export const show = (page: Page, wanted: Wanted): Promise<void> =>
  // Passed as text: TypeScript exceeds its depth on JSON types in Playwright's signatures.
  page.evaluate(
    (text) => (window as unknown as { show(wanted: unknown): void }).show(JSON.parse(text)),
    JSON.stringify(wanted),
  )
