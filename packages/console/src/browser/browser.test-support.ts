import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createGateway, type Gateway, type GatewayConfig, openaiCompatible } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { fastifyPlugin } from '@modelgate/fastify'
import { honoMiddleware } from '@modelgate/hono'
import { nodeListener } from '@modelgate/node'
import { findChromium } from '@modelgate/repo-tools/chromium'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { type ConsoleOptions, consolePages } from '../index.ts'

const executablePath = findChromium()

/** Condition for `describe.skipIf`; warns once that browser tests are skipped. */
export const withoutBrowser = executablePath === undefined
if (withoutBrowser)
  process.stderr.write(
    'console: no Chromium found, browser tests are skipped (set CHROMIUM_PATH, or install chromium)\n',
  )

let launched: Promise<Browser> | undefined

/** How long a test waits for a page, also on a machine that runs other tests at the same time. */
export const patienceMs = 30_000

/** Starts one browser for all tests of a file; close it with `closeBrowser` in `afterAll`. */
const browser = (): Promise<Browser> => {
  launched ??= chromium.launch({
    executablePath: executablePath ?? '',
    args: ['--no-sandbox', '--use-fake-device-for-media-stream'],
  })
  return launched
}

export async function closeBrowser(): Promise<void> {
  await (await launched)?.close()
  launched = undefined
}

export interface Opened {
  readonly page: Page
  /** Problems seen in the tab: console errors, exceptions, policy violations, requests to other hosts. */
  readonly wrongs: string[]
  close(): Promise<void>
}

/** Opens a new tab with empty storage that records its problems. */
export async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await (await browser()).newContext({ permissions: ['clipboard-read', 'clipboard-write'], ...options })
  context.setDefaultTimeout(patienceMs)
  const page = await context.newPage()
  const wrongs: string[] = []
  const { origin } = new URL(url)
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') wrongs.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => wrongs.push(`exception: ${error.message}`))
  page.on('request', (request) => {
    const target = new URL(request.url())
    if (target.origin !== origin && target.protocol !== 'data:') wrongs.push(`request to ${target.origin}`)
  })
  page.on('response', (response) => {
    if (response.headers()['set-cookie'] !== undefined) wrongs.push(`cookie set by ${response.url()}`)
  })
  await page.exposeFunction('tellWrong', (text: string) => wrongs.push(text))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { tellWrong } = window as unknown as { tellWrong(text: string): void }
      tellWrong(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)
    })
  })
  // By then the page's modules have run.
  await page.goto(url, { waitUntil: 'load' })
  return { page, wrongs, close: () => context.close() }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeRun {
  axe: {
    run(): Promise<{
      violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[]
    }>
  }
}

/** Returns axe's serious and critical violations, one line each. */
export async function seriousViolations(page: Page): Promise<string[]> {
  // Injected through the debugger, because the page's policy blocks foreign scripts.
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(() => (window as unknown as AxeRun).axe.run())
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id} at ${node.target.join(' ')}: ${node.failureSummary}`))
}

/** Creates a gateway with the console and an upstream that is never called. */
export const consoleGateway = (options: ConsoleOptions = {}, config: Partial<GatewayConfig> = {}): Gateway =>
  createGateway({
    auth: (token) => (token === 'right' ? { id: 'me' } : null),
    upstreams: {
      secretive: openaiCompatible({ baseURL: 'http://upstream.invalid/v1', apiKey: 'sk-hidden-0123456789' }),
    },
    models: { 'hidden-model': 'secretive' },
    plugins: [consolePages(options)],
    logger: false,
    ...config,
  })

export interface Served {
  readonly origin: string
  close(): Promise<void>
}

async function listen(listener: RequestListener): Promise<Served> {
  const server = createServer(listener)
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

/** Every host, with the gateway mounted at a path (`''` is the root). */
export const hosts: readonly {
  name: string
  serve(mount: '' | '/ai', make?: typeof consoleGateway): Promise<Served>
}[] = [
  {
    name: 'node:http',
    serve: (mount, make = consoleGateway) => listen(nodeListener(make({}, mount === '' ? {} : { basePath: mount }))),
  },
  { name: 'Express', serve: (mount, make = consoleGateway) => listen(express().use(mount, expressMiddleware(make()))) },
  {
    name: 'Fastify',
    async serve(mount, make = consoleGateway) {
      const app = Fastify()
      await app.register(fastifyPlugin(make()), { prefix: mount })
      const origin = await app.listen({ port: 0, host: '127.0.0.1' })
      return {
        origin,
        async close() {
          app.server.closeAllConnections()
          await app.close()
        },
      }
    },
  },
  {
    name: 'Hono',
    serve: (mount, make = consoleGateway) =>
      listen(getRequestListener(new Hono().use(`${mount}/*`, honoMiddleware(make())).fetch)),
  },
]
