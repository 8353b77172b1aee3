import { anthropic, createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consolePages } from '../index.ts'
import type { RecentCallsOptions } from '../recent-calls/recent-calls.ts'
import {
  closeBrowser,
  type consoleGateway,
  hosts,
  open,
  type Served,
  seriousViolations,
  withoutBrowser,
} from './browser.test-support.ts'
import { unexpected } from './playground.test-support.ts'

const adminToken = 'the-admin-token'
const apiKey = 'sk-canary-0123456789abcdef'

/** A gateway whose models pass unchanged, are translated, fail, respond with audio, or are rejected. */
const make =
  (capture: RecentCallsOptions['capture']): typeof consoleGateway =>
  (_options = {}, config = {}) => {
    const provider = createFakeProvider({ apiKey, brain: () => ({ text: 'The answer of the model.' }) })
    return createGateway({
      auth: (token) => (token === 'right' ? { id: 'tok_1', name: 'laptop' } : null),
      upstreams: {
        primary: openai({ apiKey, baseURL: 'http://refusing.test/v1', formats: ['chat'] }),
        openai: openai({ apiKey, baseURL: 'http://provider.test/v1', formats: ['chat'] }),
        limited: openai({ apiKey, baseURL: 'http://limited.test/v1', formats: ['chat'] }),
        claude: anthropic({ apiKey, baseURL: 'http://provider.test' }),
      },
      models: {
        smart: [
          { upstream: 'primary', model: 'first-model' },
          { upstream: 'openai', model: 'second-model' },
        ],
        plain: 'openai',
        translated: { upstream: 'claude', model: 'claude-x' },
        broken: 'primary',
        busy: ['limited', 'openai'],
      },
      breaker: false,
      fetch: (input, init) => {
        const { hostname } = new URL(input instanceof Request ? input.url : input)
        if (hostname === 'limited.test')
          return Promise.resolve(
            Response.json({ error: { message: 'Slow down' } }, { status: 429, headers: { 'retry-after': '30' } }),
          )
        if (hostname !== 'refusing.test') return provider.fetch(input, init)
        return Promise.resolve(
          Response.json({ error: { message: `No ${apiKey} here`, type: 'invalid_api_key' } }, { status: 401 }),
        )
      },
      plugins: [
        consolePages({
          recentCalls: {
            authorize: ({ header }) => header('authorization') === `Bearer ${adminToken}`,
            ...(capture === undefined ? {} : { capture }),
          },
        }),
      ],
      logger: false,
      ...config,
    })
  }

const post = async (root: string, path: string, body: object): Promise<string> => {
  const response = await fetch(root + path, {
    method: 'POST',
    headers: { authorization: 'Bearer right', 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  })
  await response.arrayBuffer()
  return response.headers.get('modelgate-request-id') ?? ''
}
const ask = (root: string, body: object): Promise<string> =>
  post(root, '/v1/chat/completions', { messages: [{ role: 'user', content: 'What is a gateway?' }], ...body })

/** Opens the details of a call. */
async function openCall(root: string, id: string, options?: BrowserContextOptions) {
  const opened = await open(`${root}/console/calls#token=${adminToken}&call=${id}`, options)
  await opened.page.getByRole('heading', { name: 'Requests and responses' }).waitFor()
  return opened
}

/** Returns the text of one side of a comparison. */
const textOf = async (page: Page, title: string): Promise<string> =>
  (await page.locator(`.sides > section:has(h3:has-text("${title}"))`).textContent()) ?? ''

describe.skipIf(withoutBrowser)('captured calls in a browser', { timeout: 120_000 }, () => {
  let served: Served
  let root: string
  const express = hosts.find(({ name }) => name === 'Express') as (typeof hosts)[number]
  afterAll(closeBrowser)

  describe('with captured bodies', () => {
    beforeAll(async () => {
      served = await express.serve('/ai', make({ maxBodyBytes: 4096 }))
      root = `${served.origin}/ai`
    })
    afterAll(() => served.close())

    it('shows a translated call: both requests with the losses, and both responses', async () => {
      const id = await ask(root, { model: 'translated', logprobs: true, temperature: 0.5 })
      const { page, wrongs, close } = await openCall(root, id)
      expect(await textOf(page, 'Client request')).toContain('"What is a gateway?"')
      expect(await textOf(page, 'Upstream request')).toMatch(
        /\/v1\/messages.*"claude-x".*added or changed.*max_tokens/s,
      )
      expect(await textOf(page, 'Upstream response')).toMatch(/"stop_reason": "end_turn"/)
      expect(await textOf(page, 'Client response')).toMatch(/"chat\.completion".*The answer of the model/s)
      await page.getByRole('button', { name: /logprobs/ }).click()
      const focused = await page.evaluate(() => document.activeElement?.textContent)
      expect(focused).toContain('"logprobs": true')
      // Side by side on a desktop.
      const [left, right] = await Promise.all(
        ['Client request', 'Upstream request'].map((title) => page.locator(`h3:has-text("${title}")`).boundingBox()),
      )
      expect(Math.abs((left?.y ?? 0) - (right?.y ?? 99))).toBeLessThan(4)
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })

    it('shows the request and the error of each attempt', async () => {
      const id = await ask(root, { model: 'smart' })
      const { page, close } = await openCall(root, id)
      const tabs = page.getByRole('tablist', { name: 'Attempt' })
      expect(await tabs.getByRole('tab').allTextContents()).toEqual(['1 · primary · 401', '2 · openai · 200'])
      expect(await textOf(page, 'Upstream response')).toContain('The answer of the model.')
      await tabs.getByRole('tab').first().click()
      const failed = await textOf(page, 'Upstream response')
      expect(failed).toContain('No *** here')
      expect(await textOf(page, 'Upstream request')).toContain('"first-model"')
      expect(await page.locator('h3:has-text("Client response")').count()).toBe(0)
      expect(await page.content()).not.toContain('canary')
      await close()
    })

    it('shows the cooldown that an attempt caused', async () => {
      const { page, close } = await openCall(root, await ask(root, { model: 'busy' }))
      const attempts = await page.locator('.timeline > li').allTextContents()
      expect(attempts[0]).toMatch(/limited\/busy.*429.*first attempt.*rate_limited · cooldown of 30\.0 s/)
      expect(attempts[1]).not.toContain('cooldown')
      await close()
    })

    it('shows a stream as its events', async () => {
      const id = await ask(root, { model: 'plain', stream: true })
      const { page, close } = await openCall(root, id)
      for (const title of ['Upstream response', 'Client response']) {
        expect(await textOf(page, title)).toMatch(/data: \{.*data: \[DONE\]/s)
        expect(await textOf(page, title)).toContain('text/event-stream')
      }
      await close()
    })

    it('marks a body that is cut with its real size, and shortened base64', async () => {
      const content = 'word '.repeat(42_000)
      const id = await ask(root, { model: 'plain', messages: [{ role: 'user', content }] })
      const { page, close } = await openCall(root, id)
      expect(await textOf(page, 'Client request')).toContain('Cut at 4 kB of 205 kB.')
      await page.getByTitle('With its model and format').waitFor()
      await close()
      const image_url = { url: `data:image/png;base64,${'iVBORw0KGgo'.repeat(400)}` }
      const second = await ask(root, {
        model: 'plain',
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }],
      })
      const { page: other, close: closeOther } = await openCall(root, second)
      expect(await textOf(other, 'Client request')).toMatch(/Long base64 is shortened\..*…\[\d+ more characters\]/s)
      await closeOther()
    })

    it('shows a failed call and a rejected one', async () => {
      const failed = await ask(root, { model: 'broken' })
      const { page, close } = await openCall(root, failed)
      expect(await textOf(page, 'Upstream response')).toContain('No *** here')
      expect(await textOf(page, 'Client response')).toContain("The upstream rejected the gateway's own credentials.")
      await close()
      const rejected = await ask(root, { model: 'plain', messages: 'none' })
      const { page: other, close: closeOther } = await openCall(root, rejected)
      expect(await textOf(other, 'Client request')).toContain('"messages": "none"')
      expect(await textOf(other, 'Client response')).toContain('"error"')
      expect(await other.getByText('added or changed').count()).toBe(0)
      await closeOther()
    })

    it('shows type and size in place of binary content', async () => {
      const id = await post(root, '/v1/audio/speech', { model: 'plain', input: 'Hello', voice: 'alloy' })
      const { page, close } = await openCall(root, id)
      expect(await textOf(page, 'Client response')).toMatch(/Binary body, [\d.]+ (?:bytes|kB) audio\//)
      await close()
    })

    it.each([
      [
        'chat',
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: 'What is a gateway?' }], temperature: 0.25 },
      ],
      ['messages', '/v1/messages', { messages: [{ role: 'user', content: 'What is a gateway?' }], max_tokens: 50 }],
    ])('opens the request of a call in the Playground: %s', async (format, path, body) => {
      const id = await post(root, path, { model: 'plain', ...body })
      const { page, close } = await openCall(root, id)
      const link = await page.getByRole('link', { name: 'Open in Playground' }).getAttribute('href')
      expect(link).not.toContain(adminToken)
      await page.getByRole('link', { name: 'Open in Playground' }).click()
      await page.getByText('A link filled in').waitFor()
      expect(page.url()).toBe(`${root}/console/playground`)
      expect(await page.getByLabel('Client format').inputValue()).toBe(format)
      expect(await page.locator('#question').inputValue()).toBe('What is a gateway?')
      await close()
    })

    it('opens a conversation in the Playground as extra JSON', async () => {
      const messages = ['user', 'assistant', 'user'].map((role, at) => ({ role, content: `Text ${at}` }))
      const { page, close } = await openCall(root, await ask(root, { model: 'plain', messages }))
      await page.getByRole('link', { name: 'Open in Playground' }).click()
      await page.getByText('are sent in place of the prompt').waitFor()
      expect(await page.locator('#question').inputValue()).toBe('Text 2')
      await close()
    })

    it.each([
      ['light', { width: 1280, height: 800 }],
      ['dark', { width: 1280, height: 800 }],
      ['light', { width: 390, height: 844 }],
      ['dark', { width: 390, height: 844 }],
    ] as const)('has no serious accessibility violation in %s at %j', async (colorScheme, viewport) => {
      const ids = [
        await ask(root, { model: 'translated', logprobs: true }),
        await ask(root, { model: 'smart', stream: true }),
        await post(root, '/v1/audio/speech', { model: 'plain', input: 'Hello', voice: 'alloy' }),
      ]
      for (const id of ids) {
        const { page, close } = await openCall(root, id, { colorScheme, viewport })
        expect(await seriousViolations(page)).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
        await close()
      }
    })
  })

  it('states that bodies are not captured, and how to switch it on', async () => {
    const off = await express.serve('', make(undefined))
    const { page, close } = await openCall(off.origin, await ask(off.origin, { model: 'plain' }))
    expect(await page.locator('.call-detail').textContent()).toMatch(/Not captured\..*--capture bodies/)
    expect(await page.locator('.sides').count()).toBe(0)
    expect(await page.getByText('No losses').count()).toBe(1)
    await close()
    await off.close()
  })

  it('states that bodies were dropped to stay within memory', async () => {
    const small = await express.serve('', make({ maxTotalBytes: 8000 }))
    const first = await ask(small.origin, { model: 'plain' })
    for (let n = 0; n < 5; n++) await ask(small.origin, { model: 'plain', user: 'x y '.repeat(100) })
    const { page, close } = await openCall(small.origin, first)
    await page.getByText('Dropped to stay within memory').waitFor()
    await close()
    await small.close()
  })
})
