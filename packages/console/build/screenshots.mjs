// Takes the pictures of the pages for the documentation: `node packages/console/build/screenshots.mjs [part of a name]`, after
// `node packages/repo-tools/src/setup/setup.mjs`. Needs the system's Chromium (CHROMIUM_PATH, default /usr/bin/chromium) and writes to docs/images/.
import { mkdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { anthropic, createGateway, openai } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { chromium } from 'playwright-core'
import { consolePages } from '../dist/index.js'

const folder = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
/** Fixed port: the picture shows the same address as the documentation. */
const port = Number(process.env.PORT ?? 8787)
const maxBytes = 200_000
const playground = '/console/playground'
const calls = '/console/calls'
const usage = '/console/usage'
const issuedTokens = '/console/tokens'
const adminToken = 'admin-demo'
/** @param {import('@modelgate/core').AuthRequest} request */
const isAdmin = ({ header }) => header('authorization') === `Bearer ${adminToken}`
const screens = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } }
const schemes = /** @type {const} */ (['light', 'dark'])

const onePrompt = 'Explain a queue in one sentence.'
/** The responses of both models. */
const sentences = /** @type {const} */ ([
  'A queue is a list in which the first item that enters is also the first one that leaves.',
  'A queue is a line: the first item that enters is the first one that leaves, like people at a counter.',
])

const provider = createFakeProvider({
  paceMs: 15,
  brain: ({ model, turns }) =>
    turns.at(-1)?.text === onePrompt
      ? { text: sentences[model === 'demo-chat' ? 0 : 1] }
      : {
          thinking: 'They want a short comparison. A table is the clearest.',
          text: 'Three ways to hold a place in a queue:\n\n| way | fair | cost |\n|---|---|---|\n| ticket | **yes** | a number |\n| standing | mostly | your legs |\n| asking | no | your friends |\n\n```js\nconst next = (queue) => queue.shift()\n```\n\nI would take the ticket.',
          usage: { input: 412, cacheRead: 256, output: 96, reasoning: 24 },
        },
})
/** @param {Partial<import('@modelgate/console').RecentCallsOptions>} [recentCalls] */
const createDemo = (recentCalls) =>
  createGateway({
    auth: (token) => (token === 'mg-demo' ? { id: 'demo' } : null),
    upstreams: {
      openai: openai({ apiKey: 'any', formats: ['chat'] }),
      claude: anthropic({ apiKey: 'any' }),
      away: anthropic({ apiKey: 'any', baseURL: 'http://away.test' }),
    },
    models: {
      'demo-chat': 'openai',
      'demo-embedding': 'openai',
      'demo-image': 'openai',
      careful: [
        { upstream: 'away', model: 'claude-opus-5' },
        { upstream: 'openai', model: 'demo-chat' },
      ],
      smart: {
        preferLossless: false,
        targets: [
          { upstream: 'claude', model: 'claude-opus-5' },
          { upstream: 'openai', model: 'demo-chat' },
        ],
      },
    },
    plugins: [
      { name: 'prices', costOf: () => ({ amount: 0.00184, currency: 'USD' }) },
      consolePages({ recentCalls: { authorize: isAdmin, ...recentCalls } }),
    ],
    fetch: (input, init) =>
      new URL(input instanceof Request ? input.url : input).hostname === 'away.test'
        ? Promise.resolve(
            Response.json({ error: { type: 'overloaded_error', message: 'Overloaded' } }, { status: 529 }),
          )
        : provider.fetch(input, init),
  })
const gateway = createDemo()
/** Keeps the bodies of calls. */
const capturing = createDemo({ capture: 'bodies' })

/** @param {import('playwright-core').Page} page @param {string} format @param {string} model */
async function connect(page, format, model) {
  await page.getByLabel('Token', { exact: true }).fill('mg-demo')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText('Valid token').waitFor()
  await page.getByLabel('Client format').selectOption(format)
  await page.getByLabel('Model', { exact: true }).fill(model)
}

/** Sends a question, and shows the upstream request when the call has ended. @param {import('playwright-core').Page} page @param {string} question */
async function ask(page, question) {
  await page.getByLabel('Your question').fill(question)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('$0.00184').first().waitFor()
  const wider = page.getByRole('button', { name: 'Wider' })
  if (await wider.isVisible()) await wider.click()
  await page.waitForTimeout(500)
}

/** Makes a conversation in the Playground. @param {import('playwright-core').Page} page */
async function talk(page) {
  await connect(page, 'messages', 'demo-chat')
  await ask(page, 'Compare three ways to hold a place in a queue, in a table.')
}

/** Compares texts. @param {import('playwright-core').Page} page */
async function embed(page) {
  await page.getByRole('button', { name: 'Example' }).click()
  await page.getByLabel('Text 1', { exact: true }).fill('The ferry leaves the harbour at eight.')
  await page.getByLabel('Text 2', { exact: true }).fill('At eight, the ferry leaves the harbour for the island.')
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByText('$0.00184').first().waitFor()
  await page.waitForTimeout(500)
}

/** Generates images. @param {import('playwright-core').Page} page */
async function imagine(page) {
  await page.getByRole('button', { name: 'Example' }).click()
  await page.getByLabel('Size').fill('256x256')
  await page.getByLabel('Number').fill('2')
  await page.getByRole('button', { name: 'Generate' }).click()
  await page.getByText('$0.00184').first().waitFor()
  await page.waitForTimeout(500)
}

/** Makes a call whose translation moves, adds and loses fields. @param {import('playwright-core').Page} page */
async function translate(page) {
  await connect(page, 'chat', 'smart')
  await page.getByLabel('System prompt').fill('You are a patient waiter.')
  await page.getByLabel('Temperature').fill('1.4')
  await ask(page, 'Compare three ways to hold a place in a queue.')
}

/** Makes calls of several kinds, and opens the one that fell back. @param {import('playwright-core').Page} page */
async function watch(page) {
  await page.getByText('Live', { exact: true }).waitFor()
  /** @param {string} model @param {object} [more] */
  const call = async (model, more = {}) => {
    const response = await gateway.fetch('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer mg-demo', 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hi' }], ...more }),
    })
    await response.text()
  }
  await call('demo-chat')
  await call('smart', { seed: 7 })
  await call('careful')
  await call('gpt-6')
  const row = page.locator('.call-row', { hasText: 'careful' })
  await row.first().click()
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await page.evaluate(() => scrollTo(0, 0))
}

/** Makes a call whose translation loses a field, and opens its requests and responses. @param {import('playwright-core').Page} page */
async function inspectBodies(page) {
  await page.getByText('Live', { exact: true }).waitFor()
  for (const model of ['demo-chat', 'careful', 'smart']) {
    const response = await capturing.fetch('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer mg-demo', 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        seed: 7,
        temperature: 0.4,
        messages: [
          { role: 'system', content: 'You are a patient waiter.' },
          { role: 'user', content: onePrompt },
        ],
      }),
    })
    await response.text()
  }
  await page.locator('.call-row', { hasText: 'smart' }).first().click()
  await page.getByRole('heading', { name: 'Requests and responses' }).waitFor()
  await page.evaluate(() => document.getElementById('timeline')?.scrollIntoView({ block: 'start' }))
  await page.evaluate(() => {
    const { activeElement } = document
    if (activeElement instanceof HTMLElement) activeElement.blur()
  })
}

/** Sends a question to two models. @param {import('playwright-core').Page} page */
async function compare(page) {
  await connect(page, 'chat', 'demo-chat')
  await page.keyboard.press('Tab')
  await page.getByLabel('Compare with a second model').check()
  await page.getByLabel('Second model', { exact: true }).fill('smart')
  await page.getByLabel('Your question').fill(onePrompt)
  await page.getByLabel('Your question').press('Enter')
  await page.getByRole('row', { name: /^Cost .*same$/ }).waitFor()
  await page.getByText('Differences of the texts').click()
  await page.locator('.marked').waitFor()
}

const dayMs = 86_400_000

/** Issues tokens, and makes the calls of a month with them. */
async function makeMonth() {
  // The storage in memory knows no other clock.
  const { now } = Date
  let daysAgo = 29
  Date.now = () => now() - daysAgo * dayMs
  const tokens = createTokens({
    storage: memoryStorage(),
    prices: { models: { 'gpt-5-mini': { input: 40, output: 320 }, 'claude-*': { input: 800, output: 4000 } } },
    logger: false,
  })
  const platform = createGateway({
    auth: tokens.authenticate,
    upstreams: { openai: openai({ apiKey: 'any', formats: ['chat'] }) },
    models: { 'gpt-5-mini': 'openai', 'claude-opus-5': 'openai', 'local-llama': 'openai' },
    plugins: [consolePages({ recentCalls: { authorize: isAdmin }, usage: { authorize: isAdmin, tokens } })],
    fetch: createFakeProvider({
      brain: () => ({ text: 'Yes.', usage: { input: 2412, cacheRead: 1256, output: 496 } }),
    }).fetch,
  })
  const laptop = await tokens.issue({
    name: 'laptop',
    owner: 'ada',
    limits: { requests: 600 },
    budget: { money: 250, period: 'month' },
  })
  const nightly = await tokens.issue({
    name: 'nightly batch',
    owner: 'data-team',
    models: ['gpt-*', 'claude-*'],
    budget: { money: 200, period: 'month' },
  })
  const helpDesk = await tokens.issue({ name: 'help desk', owner: 'support', limits: { concurrent: 8 } })
  await tokens.revoke((await tokens.issue({ name: 'old laptop', owner: 'ada' })).id)
  /** @param {string} secret @param {string} model */
  const call = async (secret, model) => {
    const response = await platform.fetch('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_completion_tokens: 600, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    await response.text()
  }
  const callers = [
    { secret: laptop.secret, model: 'claude-opus-5', most: 4 },
    { secret: laptop.secret, model: 'gpt-5-mini', most: 9 },
    { secret: nightly.secret, model: 'gpt-5-mini', most: 23 },
    { secret: helpDesk.secret, model: 'local-llama', most: 6 },
  ]
  for (let day = 29; day >= 0; day--) {
    daysAgo = day
    for (const { secret, model, most } of callers)
      for (let count = ((34 - day) * 7) % most; count >= 0; count--) await call(secret, model)
  }
  Date.now = now
  return { platform, tokens }
}

/** Opens a token. @param {import('playwright-core').Page} page */
async function openToken(page) {
  await page.locator('.token-row', { hasText: 'laptopada' }).first().click()
  await page.locator('.day-chart').waitFor()
  await page.evaluate(() => scrollTo(0, 0))
}

/**
 * @typedef {{
 *   name: string, path: string, scheme: 'light' | 'dark', screen: { width: number, height: number },
 *   act?: (page: import('playwright-core').Page) => Promise<void>,
 * }} Picture
 * @type {Picture[]}
 */
const pictures = [
  ...schemes.flatMap((scheme) =>
    Object.entries(screens).flatMap(([size, screen]) => [
      { name: `home-${scheme}-${size}`, path: '/', scheme, screen },
      { name: `playground-${scheme}-${size}`, path: playground, scheme, screen, act: talk },
      { name: `calls-${scheme}-${size}`, path: `${calls}#token=${adminToken}`, scheme, screen, act: watch },
    ]),
  ),
  ...schemes.flatMap((scheme) =>
    Object.entries(screens).map(([size, screen]) => ({
      name: `two-models-${scheme}-${size}`,
      path: playground,
      scheme,
      screen,
      act: compare,
    })),
  ),
  {
    name: 'embeddings-light-desktop',
    path: `${playground}#token=mg-demo&tab=embeddings`,
    scheme: 'light',
    screen: { width: 1280, height: 1000 },
    act: embed,
  },
  {
    name: 'images-dark-desktop',
    path: `${playground}#token=mg-demo&tab=images`,
    scheme: 'dark',
    screen: { width: 1280, height: 900 },
    act: imagine,
  },
  {
    name: 'captured-call-light-desktop',
    path: `${calls}#token=${adminToken}`,
    scheme: 'light',
    screen: { width: 1360, height: 1000 },
    act: inspectBodies,
  },
  {
    name: 'usage-light-desktop',
    path: `${usage}#token=${adminToken}`,
    scheme: 'light',
    screen: { width: 1280, height: 960 },
    act: (page) => page.locator('.token-budgets').waitFor(),
  },
  {
    name: 'tokens-light-desktop',
    path: `${issuedTokens}#token=${adminToken}`,
    scheme: 'light',
    screen: { width: 1280, height: 900 },
    act: openToken,
  },
  {
    name: 'translation-light',
    path: playground,
    scheme: 'light',
    screen: { width: 1280, height: 900 },
    act: translate,
  },
]

const month = await makeMonth()
const listeners = {
  demo: nodeListener(gateway),
  capturing: nodeListener(capturing),
  month: nodeListener(month.platform),
}
/** @type {keyof typeof listeners} */
let shown = 'demo'
const server = createServer((request, response) => listeners[shown](request, response))
await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)))
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
mkdirSync(folder, { recursive: true })
const [only = ''] = process.argv.slice(2)
for (const { name, path, scheme, screen, act } of pictures.filter((picture) => picture.name.includes(only))) {
  const isOfMonth = path.startsWith(usage) || path.startsWith(issuedTokens)
  shown = isOfMonth ? 'month' : act === inspectBodies ? 'capturing' : 'demo'
  const page = await browser.newPage({ colorScheme: scheme, viewport: screen })
  // The page of calls keeps a stream open, so the network is never idle.
  await page.goto(`http://localhost:${port}${path}`, { waitUntil: path.startsWith(calls) ? 'load' : 'networkidle' })
  await act?.(page)
  const file = `${folder}console-${name}.png`
  await page.screenshot({ path: file })
  await page.close()
  const { size } = statSync(file)
  if (size > maxBytes) throw new Error(`${file} is ${size} bytes: more than ${maxBytes}.`)
}
await browser.close()
server.close()
server.closeAllConnections()
await month.platform.close()
await month.tokens.close()
