import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { closeBrowser, open, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { eventually, openTab, run, serveOperations } from './operations.test-support.ts'
import { ask, type Scene, unexpected } from './playground.test-support.ts'

describe.skipIf(withoutBrowser)('the tabs of the Playground', { timeout: 120_000 }, () => {
  let scene: Scene
  afterEach(() => scene.served.close())
  afterAll(closeBrowser)

  it('are opened by an address, next to a token and a shared chat, and by keyboard', async () => {
    scene = await serveOperations('Hono', '/ai')
    const { page, wrongs, close } = await open(`${scene.url}#token=right&tab=rerank&model=my-ranker`)
    await page.getByText('Valid token').waitFor()
    await page.getByRole('heading', { name: 'Rerank' }).waitFor()
    // The tab remains in the address, the token and the model do not.
    expect(page.url()).toBe(`${scene.url}#tab=rerank`)
    await eventually(() => page.getByLabel('Model', { exact: true }).inputValue()).toBe('my-ranker')

    await page.getByRole('tab', { name: 'Rerank' }).press('ArrowLeft')
    await page.getByRole('heading', { name: 'Transcription' }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Transcription')
    await page.keyboard.press('Home')
    await page.getByRole('heading', { name: 'Conversation' }).waitFor()
    expect(page.url()).toBe(scene.url)
    expect(await page.getByRole('tabpanel', { name: 'Chat' }).count()).toBe(1)

    // A link that is opened in the same tab.
    await page.evaluate(() => {
      location.hash = 'tab=speech'
    })
    await page.getByRole('heading', { name: 'Speech' }).waitFor()
    const shared = Buffer.from('{"v":1,"format":"chat","prompt":"Shared words"}').toString('base64url')
    await page.evaluate((value) => {
      location.hash = `share=${value}`
    }, shared)
    await page.getByText('A link filled in the prompt').waitFor()
    expect(await page.getByLabel('Your question').inputValue()).toBe('Shared words')
    expect(page.url()).toBe(scene.url)
    await page.evaluate(() => {
      location.hash = 'tab=unknown'
    })
    await page.getByRole('heading', { name: 'Conversation' }).waitFor()
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('keep inputs, results and the conversation while others are shown, and over a reload', async () => {
    scene = await serveOperations('Hono', '')
    const { page, wrongs, close } = await openTab(scene, 'chat')
    await ask(page, 'One')
    await page.getByLabel('Your question').fill('Half a question')
    await page.getByRole('tab', { name: 'Images' }).click()
    await page.getByLabel('Prompt').fill('A fox')
    await page.getByLabel('Size').fill('256x256')
    await run(page, 'Generate')
    await page.getByRole('tab', { name: 'Speech' }).click()
    await page.getByLabel('Text', { exact: true }).fill('Hello')
    await run(page, 'Speak')
    await page.getByRole('tab', { name: 'Chat' }).click()
    expect(await page.getByLabel('Your question').inputValue()).toBe('Half a question')
    expect(await page.getByRole('article', { name: 'Response of demo-chat' }).count()).toBe(1)
    await page.getByRole('tab', { name: 'Images' }).click()
    expect(await page.getByLabel('Prompt').inputValue()).toBe('A fox')
    expect(await page.locator('.run img').count()).toBe(1)

    await page.reload()
    await page.getByText('Valid token').waitFor()
    expect(page.url()).toBe(`${scene.url}#tab=images`)
    expect(await page.getByLabel('Prompt').inputValue()).toBe('A fox')
    await eventually(() => page.locator('.run img').evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(
      256,
    )
    // The figures and the attempts are kept too.
    await page.getByText('demo-openai demo-image responded.').waitFor()
    await page.getByRole('tab', { name: 'Speech' }).click()
    await eventually(() =>
      page.locator('.run audio').evaluate((audio) => (audio as HTMLAudioElement).duration),
    ).toBeGreaterThan(0)

    await page.getByRole('button', { name: 'Clear results' }).click()
    await page.locator('.run').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Valid token').waitFor()
    await page.getByText('A model speaks a text.').waitFor()
    expect(await page.locator('.run').count()).toBe(0)
    await page.getByRole('tab', { name: 'Images' }).click()
    await page.locator('.run img').waitFor()
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('list the models that offer the operation, and accept any other name', async () => {
    scene = await serveOperations('Hono', '')
    const { page, close } = await openTab(scene, 'embeddings')
    const field = page.getByRole('combobox', { name: 'Model' })
    for (const [tab, model] of [
      ['Embeddings', 'demo-embedding'],
      ['Images', 'demo-image'],
      ['Speech', 'demo-speech'],
      ['Transcription', 'demo-transcribe'],
      ['Rerank', 'demo-rerank'],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click()
      await eventually(() => field.inputValue()).toBe(model)
      await field.click()
      expect(await page.getByRole('option').locator('.mono').allTextContents()).toEqual([model])
      await page.keyboard.press('Escape')
    }
    await page.getByRole('tab', { name: 'Images' }).click()
    await field.fill('dall-e-3')
    await page.getByText('Not listed: patterns accept more names.').waitFor()
    await page.getByLabel('Prompt').fill('A fox')
    const result = await run(page, 'Generate')
    expect(scene.provider.requests.at(-1)?.model).toBe('dall-e-3')
    await result.getByText('Revised prompt: A fox').waitFor()
    await close()
  })

  it('show the error of the API with its status, field, request and time to retry, and what happened', async () => {
    scene = await serveOperations('Hono', '')
    const { page, wrongs, close } = await openTab(scene, 'embeddings')
    await page.getByLabel('Text 1', { exact: true }).fill('fox')
    await page.getByRole('button', { name: 'Remove text 2' }).click()
    await page.getByLabel('Dimensions').fill('100000')
    const rejected = await run(page, 'Compare')
    await rejected.getByText(/^Invalid value for 'dimensions' = 100000/).waitFor()
    await rejected.getByText('Complete error').click()
    expect(await rejected.locator('.failure pre').textContent()).toContain('"message"')

    await page.getByLabel('Dimensions').fill('')
    await page.getByLabel('Model', { exact: true }).fill('unknown')
    const missing = await run(page, 'Compare')
    await missing.getByRole('alert').waitFor()
    await page.getByText('The gateway rejected the call with status 404. No upstream was called.').waitFor()

    await page.getByLabel('Model', { exact: true }).fill('demo-embedding')
    await page.getByLabel('Text 1', { exact: true }).fill('[[status:429 retry-after:77]]')
    const limited = await run(page, 'Compare')
    expect(await limited.getByRole('alert').locator('.figures').textContent()).toMatch(
      /^Status429Coderate_limit\w*Retry after77 sRequestreq_\w+$/,
    )
    await page.getByText('demo-openai demo-embedding failed: status 429.').waitFor()
    expect(await page.locator('.attempt').textContent()).toMatch(/429rate limited$/)
    // Each result can be inspected again.
    await page.locator('.run').nth(2).getByRole('button', { name: 'Inspect this call' }).click()
    await page.getByText('demo-openai demo-embedding failed: status 400.').waitFor()
    expect(await page.locator('.run.inspected').count()).toBe(1)
    expect(await seriousViolations(page)).toEqual([])
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('stop a call with the button and with Esc, and abort the upstream', async () => {
    scene = await serveOperations('Hono', '', 40)
    const { page, close } = await openTab(scene, 'speech')
    await page.getByLabel('Text', { exact: true }).fill('one two three four five '.repeat(40))
    for (const stop of [
      () => page.getByRole('button', { name: 'Stop' }).click(),
      () => page.keyboard.press('Escape'),
    ]) {
      await page.getByRole('button', { name: 'Speak', exact: true }).click()
      await eventually(() => scene.provider.stats).toMatchObject({ open: 1 })
      await stop()
      await page.locator('.run').first().getByText('Stopped.', { exact: true }).waitFor()
      await eventually(() => scene.provider.stats).toMatchObject({ open: 0 })
    }
    expect(scene.provider.stats).toMatchObject({ aborted: 2 })
    // A call goes on while another tab is shown.
    await page.getByLabel('Text', { exact: true }).fill('one two three four five')
    await page.getByRole('button', { name: 'Speak', exact: true }).click()
    await page.getByRole('tab', { name: 'Chat' }).click()
    await page.getByRole('tab', { name: 'Speech' }).click()
    await page.locator('.run audio').waitFor()
    await close()
  })

  it('stream partial images and the text of a transcript', async () => {
    scene = await serveOperations('Hono', '', 150)
    const { page, wrongs, close } = await openTab(scene, 'images')
    await page.getByLabel('Prompt').fill('A fox')
    await page.getByLabel('Stream partial images').check()
    await page.getByRole('button', { name: 'Generate', exact: true }).click()
    await page.getByText('In progress …').waitFor()
    await page.getByRole('button', { name: 'Download image 1' }).waitFor()
    expect(await page.locator('.run img').count()).toBe(1)
    expect(scene.provider.requests.at(-1)?.body).toMatchObject({ stream: true, partial_images: 2 })

    await page.getByRole('tab', { name: 'Transcription' }).click()
    await page.getByLabel('Audio', { exact: true }).setInputFiles({
      name: 'noise.mp3',
      mimeType: 'audio/mpeg',
      buffer: Buffer.alloc(32_000, 1),
    })
    await page.getByRole('button', { name: 'Transcribe', exact: true }).click()
    // Words arrive before the end.
    await page.locator('.run article[aria-busy=true] .transcript', { hasText: 'heard' }).waitFor()
    await page.locator('.run article[aria-busy=false] .transcript', { hasText: '“noise.mp3”' }).waitFor()
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('record from the microphone, if there is one', async () => {
    scene = await serveOperations('Hono', '')
    const { page, wrongs, close } = await openTab(scene, 'transcription', { permissions: ['microphone'] })
    await page.getByRole('button', { name: 'Record', exact: true }).click()
    await page.getByText('Recording', { exact: true }).waitFor()
    // The first data takes a moment.
    await page.getByText('0:01', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Stop recording' }).click()
    await page.locator('.files-field', { hasText: 'recording.webm' }).waitFor()
    await run(page, 'Transcribe')
    await page.locator('.transcript', { hasText: '“recording.webm”' }).waitFor()
    expect(scene.provider.requests.at(-1)?.form?.find(({ name }) => name === 'file')?.bytes.length).toBeGreaterThan(100)
    expect(unexpected(wrongs)).toEqual([])
    await close()

    const without = await open(`${scene.url}#tab=transcription`)
    await without.page.addInitScript(() => Object.defineProperty(navigator, 'mediaDevices', { value: undefined }))
    await without.page.reload()
    await without.page.getByRole('button', { name: 'Choose a file' }).waitFor()
    expect(await without.page.getByRole('button', { name: 'Record', exact: true }).count()).toBe(0)
    await without.close()
  })

  it('show the current request as code before it is sent, and the request of a call', async () => {
    scene = await serveOperations('Hono', '')
    const { page, close } = await openTab(scene, 'transcription')
    await page.getByLabel('Audio', { exact: true }).setInputFiles({
      name: "it's.mp3",
      mimeType: 'audio/mpeg',
      buffer: Buffer.alloc(32_000, 1),
    })
    await page.getByRole('button', { name: 'Code', exact: true }).click()
    const form = page.locator('#request-code')
    expect(await form.locator('pre').textContent()).toContain("-F 'file=@it_s.mp3;type=audio/mpeg'")
    for (const [tab, text] of [
      ['openai', 'client.audio.transcriptions.create({'],
      ['openai (Python)', 'file=open("it_s.mp3", "rb")'],
      ['Python', '("file", "it_s.mp3", "audio/mpeg"),'],
      ['fetch', "form.append('file', new File([readFileSync('it_s.mp3')], 'it_s.mp3', { type: 'audio/mpeg' }))"],
    ] as const) {
      await form.getByRole('tab', { name: tab, exact: true }).click()
      expect(await form.locator('pre').textContent()).toContain(text)
    }
    await page.getByLabel('Language').fill('de')
    expect(await form.locator('pre').textContent()).toContain("form.append('language', 'de')")
    expect(scene.provider.requests).toEqual([])
    await run(page, 'Transcribe')
    await page.getByRole('tab', { name: 'Request' }).click()
    const inspector = page.locator('.pane.request')
    expect(await inspector.locator('pre').textContent()).toContain("--form-string 'language=de'")
    expect(await page.content()).not.toContain('Bearer right')
    await close()
  })

  it('merge extra fields into the request', async () => {
    scene = await serveOperations('Hono', '')
    const { page, close } = await openTab(scene, 'embeddings')
    await page.getByRole('button', { name: 'Example' }).click()
    await page.getByLabel('Extra JSON').fill('[1]')
    await page.getByText('Enter a JSON object.').waitFor()
    await page.getByLabel('Extra JSON').fill('{"encoding_format":"base64","user":"me"}')
    const result = await run(page, 'Compare')
    expect(scene.provider.requests.at(-1)?.body).toMatchObject({ encoding_format: 'base64', user: 'me' })
    // Base64 holds the same vectors.
    expect(await result.getByText('256 dimensions').count()).toBe(3)
    expect(await result.locator('.scores tr').first().textContent()).toMatch(/1 ↔ 20\.\d{4}/)
    await close()
  })

  it('need no token at an open gateway', async () => {
    scene = await serveOperations('Hono', '/ai', 0, { auth: 'none' })
    const { page, wrongs, close } = await open(`${scene.url}#tab=rerank`)
    await page.getByText('This gateway needs no token.').waitFor()
    await page.getByRole('button', { name: 'Example' }).click()
    await run(page, 'Rerank')
    await page.getByRole('button', { name: 'Code', exact: true }).click()
    expect(await page.locator('#request-code pre').textContent()).not.toContain('MODELGATE_TOKEN')
    expect(unexpected(wrongs)).toEqual([])
    await close()
  })

  it('report code that could not be loaded, and load it after a reload', async () => {
    scene = await serveOperations('Hono', '')
    const { page, close } = await openTab(scene, 'chat')
    await page.route('**/console/assets/*', (route) => route.abort())
    await page.getByRole('tab', { name: 'Rerank' }).click()
    await page.getByText('This tab could not be loaded').waitFor()
    await page.getByRole('tab', { name: 'Chat' }).click()
    await ask(page, 'Still here')
    await page.getByRole('tab', { name: 'Rerank' }).click()
    await page.getByText('This tab could not be loaded').waitFor()
    await page.unroute('**/console/assets/*')
    await page.getByRole('button', { name: 'Reload the page' }).click()
    await page.getByRole('heading', { name: 'Rerank' }).waitFor()
    await close()
  })
})
