import { anthropic, createGateway, openai } from '@modelgate/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consolePages } from '../index.ts'
import { closeBrowser, type Served, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import type { Wanted } from './parts-page.test-entry.tsx'
import { openParts, serveParts, show } from './parts-page.test-support.ts'

const at = { apiKey: 'sk-hidden-0123456789', baseURL: 'http://upstream.invalid' }
const gateway = createGateway({
  auth: (token) => (token === 'right' ? { id: 'me' } : null),
  upstreams: { claude: anthropic(at), open: openai({ ...at, formats: ['chat'] }) },
  models: {
    translated: { upstream: 'claude', model: 'claude-opus-5' },
    same: 'open',
    several: {
      targets: [
        { upstream: 'claude', model: 'claude-opus-5', onLoss: 'reject' },
        { upstream: 'open', model: 'gpt-5' },
      ],
    },
  },
  plugins: [consolePages()],
  logger: false,
})

type Inspected = Extract<Wanted, { part: 'inspector' }>
const call = (body: object, more: Partial<Inspected> = {}): Inspected => ({
  part: 'inspector',
  format: 'chat',
  token: 'right',
  canExplain: true,
  exchange: {
    request: {
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
      body: { messages: [{ role: 'user', content: "It's me" }], ...body },
    },
    status: 200,
    responseHeaders: { 'modelgate-request-id': 'req-1', date: 'today', 'x-ratelimit-remaining-requests': '9' },
    events: [{ data: '{"a":1}', at: 12 }],
    pieces: [],
    outcome: 'finished',
  },
  ...more,
})

describe.skipIf(withoutBrowser)('the inspector in a browser', { timeout: 120_000 }, () => {
  let served: Served
  beforeAll(async () => {
    served = await serveParts(gateway)
  })
  afterAll(async () => {
    await served.close()
    await closeBrowser()
  })

  it('marks lost fields at their lines, gives the reason, and links there by keyboard', async () => {
    const { page, wrongs, close } = await openParts(served)
    await show(page, call({ model: 'translated', seed: 7, logprobs: true, top_logprobs: 2 }))
    await page.getByText('Client request').waitFor()
    const lost = await page.locator('.json .lost.warn .written').allTextContents()
    expect(lost.map((line) => line.trim()).sort()).toEqual(['"logprobs": true,', '"seed": 7,', '"top_logprobs": 2'])
    expect(await page.locator('.json .lost.warn', { hasText: '"seed": 7' }).locator('.why').textContent()).toMatch(
      /^unsupported /,
    )
    // A field that the gateway added appears on the upstream side.
    expect(await page.locator('.json .origin-new', { hasText: '"max_tokens"' }).count()).toBe(1)
    const item = page.getByRole('button', { name: /\/seed/ })
    await item.focus()
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('"seed": 7')
    expect(wrongs).toEqual([])
    await close()
  })

  it('reports that nothing is lost, and only for a response that arrived', async () => {
    const { page, close } = await openParts(served)
    await show(page, call({ model: 'same', seed: 7 }))
    await page.getByText('No losses: every field reached the upstream.').waitFor()
    expect(await page.locator('.json .lost').count()).toBe(0)
    expect(await page.locator('.json .origin-new').count()).toBe(0)
    const failed = call({ model: 'same', seed: 7 })
    const exchange = { ...failed.exchange, outcome: 'failed' as const, status: 502 }
    await show(page, { ...failed, exchange: { ...exchange, responseHeaders: { 'modelgate-attempts': '1' } } })
    await page.getByText('The upstream failed: status 502.').waitFor()
    await page.getByText('Client request').waitFor()
    expect(await page.getByText('No losses').count()).toBe(0)
    expect(await page.locator('.verdict.good, .whole, .chip.good').count()).toBe(0)
    await close()
  })

  it('lists the targets in order, with the reason for a skipped one', async () => {
    const { page, close } = await openParts(served)
    await show(page, call({ model: 'several', seed: 7 }))
    await page.getByRole('tab', { name: 'Plan' }).click()
    const targets = page.locator('.target')
    await targets.first().waitFor()
    expect(await targets.allTextContents()).toHaveLength(2)
    const refused = page.locator('.target', { hasText: 'not called' })
    await refused.click()
    expect(await refused.getAttribute('aria-pressed')).toBe('true')
    await page.getByText('Would not be called').waitFor()
    await close()
  })

  it.each([
    ['a model that there is not', { model: 'none' }, 'right', /Rejected with 404/],
    ['a token that is wrong', { model: 'same' }, 'wrong', /Rejected with 401/],
  ])('shows the gateway’s rejection of %s', async (_, body, token, message) => {
    const { page, close } = await openParts(served)
    await show(page, call(body, { token }))
    await page.getByRole('tab', { name: 'Plan' }).click()
    await page.getByText(message).waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText(message).waitFor()
    await close()
  })

  it('requests no explanation during the call, nor from a gateway without explanations', async () => {
    const { page, close } = await openParts(served)
    const requested: string[] = []
    page.on('request', (request) => requested.push(request.url()))
    const running = call({ model: 'same' })
    await show(page, { ...running, exchange: { ...running.exchange, outcome: 'running' } })
    await page.getByText('Available when the call has finished').waitFor()
    await page.waitForTimeout(500)
    expect(requested).toEqual([])
    await show(page, { ...running, canExplain: false })
    expect(await page.getByRole('tab', { name: 'Plan' }).count()).toBe(0)
    await page.getByRole('tab', { name: 'Request' }).click()
    await page.getByRole('tab', { name: 'curl' }).waitFor()
    await close()
  })

  it('shortens a picture on screen, copies a command that reads it from a file, and leaves the token out', async () => {
    const { page, close } = await openParts(served)
    const data = 'QUJD'.repeat(50_000)
    const url = `data:image/png;base64,${data}`
    await show(
      page,
      call({ model: 'same', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }),
    )
    await page.getByRole('tab', { name: 'Request' }).click()
    await page.getByText('Long values are shortened.').waitFor()
    expect((await page.locator('.inspect pre').textContent())?.length).toBeLessThan(2000)
    await page.getByRole('button', { name: 'Copy the curl command' }).click()
    await page.getByText('Copied the curl command').waitFor({ state: 'attached' })
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toContain("$(base64 < 'attachment-1.png'")
    expect(copied.length).toBeLessThan(2000)
    expect(copied).toContain(`curl -sS -N '${served.origin}/v1/chat/completions'`)
    expect(copied).toContain('-H "authorization: Bearer $MODELGATE_TOKEN"')
    expect(copied).not.toContain('right')
    await close()
  })

  it('stays responsive with ten thousand events, and reaches each', async () => {
    const { page, close } = await openParts(served)
    const events = Array.from({ length: 10_000 }, (_, index) => ({
      event: 'delta',
      data: `{"n":${index}}`,
      at: index * 3,
    }))
    const base = call({ model: 'same' })
    await show(page, { ...base, exchange: { ...base.exchange, events } })
    const began = performance.now()
    await page.getByText('10,000 events').waitFor()
    expect(performance.now() - began).toBeLessThan(1500)
    expect(await page.locator('.event').count()).toBe(100)
    await page.getByRole('button', { name: 'Later' }).click()
    const line = page.locator('.event', { hasText: '{"n":150}' })
    expect(await line.locator('.at').textContent()).toBe('+450 ms')
    await line.locator('summary').press('Enter')
    expect(await line.locator('pre').textContent()).toBe('{\n  "n": 150\n}')
    await page.getByText('modelgate-request-id').waitFor()
    await page.getByRole('button', { name: 'Copy all events' }).click()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied.split('\n\n')).toHaveLength(10_001)
    expect(copied).toContain('event: delta\ndata: {"n":9999}\n\n')
    await close()
  })

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('has no serious accessibility violation in %s at a width of %i', async (colorScheme, width) => {
    const { page, wrongs, close } = await openParts(served, { colorScheme, viewport: { width, height: 800 } })
    const target = { model: 'translated', seed: 7, user: 'u', tool_choice: 'none', parallel_tool_calls: false }
    await show(page, call(target))
    await page.getByText('Client request').waitFor()
    await page.locator('.event summary').click()
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('tab', { name: 'Request' }).click()
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('tab', { name: 'Plan' }).click()
    await page.getByText('Client request').waitFor()
    expect(await seriousViolations(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    expect(wrongs).toEqual([])
    await close()
  })
})
