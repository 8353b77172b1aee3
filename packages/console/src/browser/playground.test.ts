import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeBrowser, open, patienceMs, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { ask, checkToken, openPlayground, type Scene, serveDemo, unexpected } from './playground.test-support.ts'

/** Each host, at its root or below a path: the adapters have their own tests of every mount. */
const places = [
  { host: 'Express', mount: '/ai' },
  { host: 'Fastify', mount: '' },
  { host: 'Hono', mount: '/ai' },
] as const
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe.skipIf(withoutBrowser)('the Playground in a browser', { timeout: 120_000 }, () => {
  afterAll(closeBrowser)

  describe.each(places)("on $host, mounted at '$mount/'", ({ host, mount }) => {
    let scene: Scene
    beforeAll(async () => {
      scene = await serveDemo(host, mount, 20)
    })
    afterAll(() => scene.served.close())

    it('checks a token, lists its models, streams a response, and stops it upstream', async () => {
      const { page, wrongs, close } = await open(scene.url)
      await checkToken(page, 'wrong')
      await page.getByText(/^401: .*token/i).waitFor()
      await checkToken(page, 'right')
      await page.getByText('Valid token · 4 models available').waitFor()
      const models = page.getByRole('combobox', { name: 'Model' })
      await models.click()
      const names = page.getByRole('option').locator('.mono')
      expect(await names.allTextContents()).toEqual(['demo-chat', 'demo-messages', 'demo-gemini', 'demo-responses'])
      await models.press('Escape')

      const answer = await ask(page, '[[words:40]]', false)
      const text = async (): Promise<number> => ((await answer.textContent()) ?? '').length
      const lengths = new Set<number>()
      while (await page.getByRole('button', { name: 'Stop' }).isVisible()) {
        lengths.add(await text())
        await page.waitForTimeout(60)
      }
      expect(lengths.size).toBeGreaterThan(3)
      await answer.getByText('tokens/s').waitFor()
      await answer.getByText('$0.00125').waitFor()

      scene.provider.reset()
      await ask(page, '[[words:2000]]', false)
      await page
        .getByText(/quick brown fox jumps over a lazy dog and then the/)
        .last()
        .waitFor()
      await page.keyboard.press('Escape')
      await page.getByText('Stopped.', { exact: true }).first().waitFor()
      await expect
        .poll(() => scene.provider.stats, { timeout: patienceMs })
        .toMatchObject({ aborted: 1, finished: 0, open: 0 })
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })
  })

  describe('behind one host', () => {
    let scene: Scene
    beforeAll(async () => {
      scene = await serveDemo('Express', '/ai')
    })
    afterAll(() => scene.served.close())

    it.each([
      ['chat', 'stop', '/v1/chat/completions'],
      ['messages', 'end_turn', '/v1/messages'],
      ['gemini', 'STOP', '/v1beta/models/demo-messages:'],
      ['responses', 'completed', '/v1/responses'],
    ])('speaks %s, streamed and whole', async (format, finish, path) => {
      const { page, wrongs, close } = await openPlayground(scene.url)
      await page.getByLabel('Client format').selectOption(format)
      await page.getByLabel('Model', { exact: true }).fill('demo-messages')
      for (const streamed of [true, false]) {
        await page.getByLabel('Stream the response').setChecked(streamed)
        const called = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes(path))
        const answer = await ask(page, `[[think]] Are you ${streamed}?`)
        expect(new URL((await called).url()).pathname).toMatch(/^\/ai\/v1/)
        await answer.getByText(`You said: “Are you ${streamed}?”`).waitFor()
        await answer.getByText(finish, { exact: true }).waitFor()
        await answer.getByText('$0.00125').waitFor()
        await answer.getByText('Reasoning', { exact: true }).first().click()
        await answer.getByText('I will answer briefly.').waitFor()
        await answer.getByText(/^req_\w{22}$/).waitFor()
      }
      expect(wrongs).toEqual([])
      await close()
    })

    it('sends an image, and rejects a file that is too big or no image', async () => {
      const { page, close } = await openPlayground(scene.url)
      const files = page.locator('.composer input[type=file]')
      await files.setInputFiles({ name: 'big.png', mimeType: 'image/png', buffer: Buffer.alloc(5 * 1024 * 1024) })
      await page.getByText('“big.png” has 5.0 MB; the limit is 4 MB.').waitFor()
      await files.setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
      await page.getByText('“a.txt” is not a PNG').waitFor()
      await files.setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') })
      await page.getByRole('button', { name: 'Remove dot.png' }).waitFor()
      const answer = await ask(page, 'What is it?')
      await answer.getByText('I received the image (image/png, 70 bytes).').waitFor()
      expect(await page.getByRole('img', { name: 'dot.png' }).count()).toBe(1)
      await close()
    })

    it('accepts pasted and dropped images', async () => {
      const { page, close } = await openPlayground(scene.url)
      for (const [type, field] of [
        ['paste', 'clipboardData'],
        ['drop', 'dataTransfer'],
      ] as const)
        await page.getByLabel('Your question').evaluate(
          (element, { type, field, pixel }) => {
            const data = new DataTransfer()
            data.items.add(
              new File([Uint8Array.from(atob(pixel), (c) => c.charCodeAt(0))], `${type}.png`, { type: 'image/png' }),
            )
            const init = { [field]: data, bubbles: true, cancelable: true }
            element.dispatchEvent(type === 'paste' ? new ClipboardEvent(type, init) : new DragEvent(type, init))
          },
          { type, field, pixel },
        )
      await page.getByRole('button', { name: 'Remove drop.png' }).click()
      expect(await page.getByRole('img').count()).toBe(1)
      await page.getByRole('button', { name: 'Remove paste.png' }).waitFor()
      await close()
    })

    it('shows a tool call, and leaves it out of the next request', async () => {
      const { page, close } = await openPlayground(scene.url)
      await page.getByLabel('Offer tools').check()
      const answer = await ask(page, 'Tell me the weather in Rome')
      await answer.getByText('get_weather', { exact: true }).waitFor()
      expect(await answer.locator('pre').first().textContent()).toMatch(/^\{\n {2}"city": "\w+"\n\}$/)
      scene.provider.reset()
      await ask(page, 'And you?')
      expect(scene.provider.requests[0]?.body).toMatchObject({ messages: [{ role: 'user', content: 'And you?' }] })
      await page.getByLabel('Tools, as JSON').fill('[{}]')
      await page.getByText('Tool 1 has no "name".').waitFor()
      await page.getByLabel('Your question').fill('More')
      expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
      await close()
    })

    it('sends the results of tool calls that the user enters', async () => {
      const { page, wrongs, close } = await openPlayground(scene.url)
      await page.getByLabel('Offer tools').check()
      await ask(page, '[[tool:get_weather {"city":"Rome"}]] [[tool:get_weather {"city":"Oslo"}]]')
      // Each call takes only the room that it needs.
      for (const box of await page.locator('.tool-call').all())
        expect((await box.boundingBox())?.height).toBeLessThan(400)
      expect((await page.locator('.tool-calls').boundingBox())?.height).toBeLessThan(800)
      await page.getByLabel('Result of get_weather').first().fill('sunny in Rome')
      await page.getByLabel('Result of get_weather').last().fill('no station')
      await page.getByLabel('The tool failed').last().check()
      expect(await seriousViolations(page)).toEqual([])
      await page.getByRole('button', { name: 'Send results' }).click()
      await page.getByRole('article').last().getByText('sunny in Rome').waitFor()
      expect(scene.provider.requests.at(-1)?.body).toMatchObject({
        messages: [
          { role: 'user' },
          { role: 'assistant', tool_calls: [{}, {}] },
          { role: 'tool', content: 'sunny in Rome' },
          { role: 'tool', content: 'Error: no station' },
        ],
      })
      await page.reload()
      await page.getByText('Error of get_weather:').waitFor()
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })

    it("shows the API's error unchanged", async () => {
      const { page, wrongs, close } = await openPlayground(scene.url)
      const answer = await ask(page, '[[status:400]]')
      const alert = answer.getByRole('alert')
      const message = (await alert.locator('p').textContent()) ?? ''
      expect(message.length).toBeGreaterThan(10)
      await alert.getByText('Complete error').click()
      const body: unknown = JSON.parse((await alert.locator('pre').textContent()) ?? '')
      expect(body).toMatchObject({ error: { message } })
      expect(await alert.locator('.figures').textContent()).toContain('Status400')

      const broken = await ask(page, '[[error-event after:3]]')
      await broken.getByText(/^You said/).waitFor()
      await broken.getByRole('alert').waitFor()
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })

    it('repeats and edits questions in new branches, and keeps the conversation over a reload', async () => {
      const { page, close } = await openPlayground(scene.url)
      await ask(page, 'One')
      await ask(page, 'Two')
      await page.getByRole('button', { name: 'Retry' }).click()
      await expect.poll(() => scene.provider.requests.length).toBeGreaterThan(2)
      await page.locator('article[aria-busy=false]').nth(1).waitFor()
      expect(await page.getByRole('article').count()).toBe(2)
      expect(scene.provider.requests.at(-1)?.body).toEqual(scene.provider.requests.at(-2)?.body)

      await page.getByRole('button', { name: 'Edit this question' }).first().click()
      await page.getByLabel('Edit the question').fill('Three')
      await page.getByLabel('Edit the question').press('Enter')
      await page.getByRole('article').getByText('You said: “Three”.').waitFor()
      expect(await page.getByRole('article').count()).toBe(1)
      expect(scene.provider.requests.at(-1)?.body).toMatchObject({ messages: [{ role: 'user', content: 'Three' }] })

      // The earlier branch is still there, with its retried round.
      await page.getByText('2 of 2').waitFor()
      await page.getByRole('button', { name: 'Earlier version' }).click()
      await page.getByRole('article').getByText('You said: “One”.').waitFor()
      expect(await page.getByRole('article').count()).toBe(2)
      expect(await page.getByText('2 of 2').count()).toBe(1)
      await page.reload()
      await page.getByRole('article').getByText('You said: “Two”.').waitFor()
      expect(await page.getByRole('article').count()).toBe(2)
      expect(await page.evaluate(() => localStorage.getItem('modelgate-conversation'))).not.toMatch(/right|bearer/i)
      await page.getByText('demo-openai demo-chat responded.').waitFor()

      // The arrows recall questions.
      const field = page.getByLabel('Your question')
      await field.press('ArrowUp')
      expect(await field.inputValue()).toBe('Two')
      await field.press('ArrowUp')
      expect(await field.inputValue()).toBe('One')
      await field.press('ArrowDown')
      expect(await field.inputValue()).toBe('Two')
      await field.press('ArrowDown')
      expect(await field.inputValue()).toBe('')

      await page.getByRole('button', { name: 'New chat' }).click()
      expect(await page.getByRole('article').count()).toBe(0)
      await page.reload()
      await page.getByText('Valid token').waitFor()
      expect(await page.getByRole('article').count()).toBe(0)
      await close()
    })

    it('sends the settings that were set, and no others', async () => {
      const { page, close } = await openPlayground(scene.url)
      scene.provider.reset()
      await ask(page, 'Hi')
      expect(Object.keys(scene.provider.requests[0]?.body ?? {}).sort()).toEqual([
        'messages',
        'model',
        'stream',
        'stream_options',
      ])
      await page.getByLabel('System prompt').fill('Be kind.')
      await page.getByLabel('Temperature').fill('0.3')
      await page.getByLabel('Max tokens').fill('50')
      await page.getByLabel('Model', { exact: true }).fill('gpt-unlisted')
      await ask(page, 'Ho')
      expect(scene.provider.requests[1]?.body).toMatchObject({
        model: 'gpt-unlisted',
        temperature: 0.3,
        max_completion_tokens: 50,
        messages: [{ role: 'system', content: 'Be kind.' }, {}, { role: 'assistant' }, { content: 'Ho' }],
      })
      await page.getByText('More settings').click()
      await page.getByLabel('Top P').fill('0.9')
      await page.getByLabel('Seed').fill('7')
      await page.getByLabel('Reasoning effort').selectOption('low')
      await page.getByLabel('Stop sequences').fill('END\nSTOP')
      await page
        .getByLabel('JSON schema of the response')
        .fill('{"type":"object","properties":{"a":{"type":"string"}}}')
      await page.getByLabel('Extra JSON').fill('{"metadata":{"team":"a"},"stream_options":{"include_usage":false}}')
      await ask(page, 'Json')
      expect(scene.provider.requests[2]?.body).toMatchObject({
        top_p: 0.9,
        seed: 7,
        reasoning_effort: 'low',
        stop: ['END', 'STOP'],
        response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
        metadata: { team: 'a' },
      })
      await page.getByRole('tab', { name: 'Request' }).click()
      for (const [tab, text] of [
        ['Python', '"seed": 7,'],
        ['fetch', 'seed: 7,'],
        ['curl', '"seed": 7,'],
      ] as const) {
        await page.getByRole('tab', { name: tab, exact: true }).click()
        expect(await page.getByLabel('Request as code').locator('pre').textContent()).toContain(text)
      }
      await page.getByLabel('Extra JSON').fill('[1]')
      await page.getByText('Enter a JSON object.').waitFor()
      await page.getByLabel('Extra JSON').fill('')
      // The group of settings stays open while its user types.
      expect(await page.getByLabel('Extra JSON').isVisible()).toBe(true)
      await page.getByLabel('Max tokens').fill('many')
      await page.getByText('Enter a whole number greater than 0.').waitFor()
      await close()
    })

    it('keeps the token in its tab, and on the device only on request', async () => {
      const { page, close } = await openPlayground(scene.url)
      const kept = () => page.evaluate(() => [sessionStorage, localStorage].map((store) => ({ ...store })))
      expect(await kept()).toEqual([{ 'modelgate-token': 'right' }, {}])
      await page.getByLabel('Remember on this device').check()
      expect(await kept()).toEqual([{ 'modelgate-token': 'right' }, { 'modelgate-token': 'right' }])
      await page.reload()
      await page.getByText('Valid token · 4 models available').waitFor()
      await page.getByLabel('Remember on this device').uncheck()
      await page.getByLabel('Token', { exact: true }).fill('')
      expect(await kept()).toEqual([{}, {}])
      await close()
    })

    it('reads the token of a link, and removes it from the address bar', async () => {
      const { page, wrongs, close } = await open(`${scene.url}?from=here#token=right`)
      await page.getByText('Valid token · 4 models available').waitFor()
      expect(page.url()).toBe(`${scene.url}?from=here`)
      const stored = () => page.evaluate(() => [sessionStorage, localStorage].map((store) => ({ ...store })))
      expect(await stored()).toEqual([{ 'modelgate-token': 'right' }, {}])
      const answer = await ask(page, 'Hi')
      await answer.getByText('You said: “Hi”').waitFor()
      // The same tab follows another link without a new page load.
      await page.evaluate(() => {
        location.hash = 'token=wrong'
      })
      await page.getByText(/^401: .*token/i).waitFor()
      expect(page.url()).toBe(`${scene.url}?from=here`)
      expect(await page.evaluate(() => JSON.stringify(history.state) + location.href)).not.toContain('wrong')
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })

    it('shows the conversation first on a phone, and leads to the settings', async () => {
      const { page, close } = await open(scene.url, { viewport: { width: 390, height: 844 } })
      const top = async (name: string) =>
        (await page.getByRole('heading', { name, exact: true }).boundingBox())?.y ?? -1
      await page.getByRole('heading', { name: 'Conversation' }).waitFor()
      expect(await top('Conversation')).toBeLessThan(200)
      expect(await top('Settings')).toBeGreaterThanOrEqual(844 - 60)
      const composer = await page.getByLabel('Your question').boundingBox()
      expect((composer?.y ?? 0) + (composer?.height ?? 0)).toBeLessThanOrEqual(844)
      await page.getByRole('button', { name: 'Settings', exact: true }).click()
      expect(await top('Settings')).toBeLessThan(200)
      // Below the conversation, after a response too.
      await checkToken(page, 'right')
      await page.getByText('Valid token').waitFor()
      const answer = await ask(page, 'Hi')
      await answer.getByRole('button', { name: 'Inspect this call' }).click()
      await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(300)
      expect(await top('Inspector')).toBeLessThan(844)
      await page.getByRole('button', { name: 'Settings', exact: true }).click()
      expect(await top('Settings')).toBeLessThan(200)
      // On a wide screen the settings are on the left, in the order of the keyboard too.
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.getByRole('button', { name: 'Settings', exact: true }).waitFor({ state: 'hidden' })
      expect(await page.locator('.panes > section h2').allTextContents()).toEqual([
        'Settings',
        'Conversation',
        'Inspector',
      ])
      await close()
    })

    it('reports losses, and links to their places', async () => {
      const { page, wrongs, close } = await openPlayground(scene.url)
      await page.getByLabel('Client format').selectOption('messages')
      const answer = await ask(page, 'Hi')
      await answer.getByRole('button', { name: '1 note in the response /system_fingerprint' }).click()
      expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(/^Inspector/)
      await page.getByRole('heading', { name: '1 note in the translation' }).waitFor()
      await page.getByText('In the response.').waitFor()
      expect(wrongs).toEqual([])
      await close()
    })

    it('needs no token for an open gateway, and names no upstream if explanations are off', async () => {
      const own = await serveDemo('Hono', '/ai', 0, { auth: 'none', console: { explain: false } })
      const { page, wrongs, close } = await open(own.url)
      await page.getByText('This gateway needs no token.').waitFor()
      expect(await page.getByLabel('Token', { exact: true }).count()).toBe(0)
      await page.getByLabel('Model', { exact: true }).fill('demo-messages')
      const answer = await ask(page, 'Hi')
      await answer.getByText('You said: “Hi”').waitFor()
      await page.getByText('The upstream responded.').waitFor()
      expect(await page.getByRole('tab', { name: 'Plan' }).count()).toBe(0)
      expect(wrongs).toEqual([])
      await close()
      await own.served.close()
    })

    it('executes nothing that a hostile response contains', async () => {
      const { page, wrongs, close } = await openPlayground(scene.url)
      const hostile = [
        '<script>window.hacked = 1</script>',
        '<img src=x onerror="window.hacked = 2">',
        '[press me](javascript:window.hacked=3) [and me](data:text/html,<script>alert(1)</script>)',
        '![picture](http://elsewhere.invalid/track.png)',
        '<svg onload="window.hacked = 4"><iframe src="http://elsewhere.invalid"></iframe>',
        '```html\n<script>window.hacked = 5</script>\n```',
      ].join('\n\n')
      for (const stream of [true, false]) {
        await page.getByLabel('Stream the response').setChecked(stream)
        scene.provider.reply({ text: hostile, thinking: hostile })
        const answer = await ask(page, 'Be bad')
        await answer
          .getByText(/press me/)
          .last()
          .waitFor()
        for (const link of await answer.locator('a').all()) await link.click({ timeout: 1000 }).catch(() => {})
        expect(
          await answer.locator('script, iframe, img[src^=http], a[href^="javascript:"], a[href^="data:"]').count(),
        ).toBe(0)
      }
      expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined()
      expect(wrongs).toEqual([])
      await close()
    })

    it.each([
      ['light', { width: 1280, height: 800 }],
      ['dark', { width: 390, height: 844 }],
    ] as const)('has no serious accessibility violation in %s at %j', async (colorScheme, viewport) => {
      const { page, close } = await openPlayground(scene.url, { colorScheme, viewport })
      await page.getByLabel('Model', { exact: true }).fill('demo-messages')
      await page.getByLabel('Offer tools').check()
      await ask(page, '[[think]] What can you do?')
      if (viewport.width < 500) await page.getByRole('button', { name: 'Show settings' }).click()
      await ask(page, 'Tell me the weather in Rome')
      await ask(page, '[[status:400]]')
      await page.getByText('Complete error').click()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
      expect(await seriousViolations(page)).toEqual([])
      await close()
    })
  })
})
