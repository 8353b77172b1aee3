import { readFileSync } from 'node:fs'
import type { FormPart } from '@modelgate/testing'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { closeBrowser, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { eventually, openTab, run, serveOperations, widthOf } from './operations.test-support.ts'
import { type Scene, unexpected } from './playground.test-support.ts'

type Place = readonly [
  host: string,
  mount: '' | '/ai',
  scheme: 'light' | 'dark',
  viewport: { width: number; height: number },
]

const places: readonly Place[] = [
  ['node:http', '', 'light', { width: 1280, height: 900 }],
  ['Express', '/ai', 'dark', { width: 390, height: 844 }],
  ['Fastify', '/ai', 'light', { width: 390, height: 844 }],
  ['Hono', '', 'dark', { width: 1280, height: 900 }],
]

const where = 'on %s at "%s" in %s at %j'

describe.skipIf(withoutBrowser)('the tabs of operations in a browser', { timeout: 120_000 }, () => {
  let scene: Scene
  afterEach(() => scene.served.close())
  afterAll(closeBrowser)

  const start = async (tab: string, [host, mount, colorScheme, viewport]: Place) => {
    scene = await serveOperations(host, mount)
    return openTab(scene, tab, { colorScheme, viewport })
  }
  const figures = (page: Page): Promise<string | null> => page.locator('.run footer .figures').first().textContent()
  const expectClean = async (page: Page, wrongs: readonly string[], { width }: { width: number }): Promise<void> => {
    expect(await seriousViolations(page)).toEqual([])
    expect(await widthOf(page)).toBe(width)
    expect(unexpected(wrongs)).toEqual([])
  }
  const sent = () => scene.provider.requests.at(-1)
  const fieldsOf = (form: readonly FormPart[] | undefined) =>
    (form ?? []).map(({ name, filename, bytes }) => [name, filename ?? new TextDecoder().decode(bytes)])
  /** Contains the attempts and the figures that only the gateway knows. */
  const expectInspected = async (page: Page, upstream: string): Promise<void> => {
    await page.getByText(`${upstream} responded.`).waitFor()
    await page.locator('.attempt.good', { hasText: '200' }).waitFor()
    await page.getByText('No losses: every field reached the upstream.').waitFor()
  }

  it.each(places)(`compare texts by their embeddings, ${where}`, async (...place) => {
    const { page, wrongs, close } = await start('embeddings', place)
    await eventually(() => page.getByLabel('Model', { exact: true }).inputValue()).toBe('demo-embedding')
    await page.getByText('Enter each text, or remove empty ones.').waitFor()
    await page.getByLabel('Text 1', { exact: true }).fill('the red fox')
    await page.getByLabel('Text 2', { exact: true }).fill('a red fox')
    await page.getByRole('button', { name: 'Add text' }).click()
    await page.getByLabel('Text 3', { exact: true }).fill('pumpkin soup')
    await page.getByLabel('Dimensions').fill('many')
    await page.getByText('Enter a whole number greater than 0.').waitFor()
    expect(await page.getByRole('button', { name: 'Compare' }).isDisabled()).toBe(true)
    await page.getByLabel('Dimensions').fill('64')
    const result = await run(page, 'Compare')
    expect(sent()?.body).toMatchObject({ input: ['the red fox', 'a red fox', 'pumpkin soup'], dimensions: 64 })
    expect(await result.getByText('64 dimensions').count()).toBe(3)
    const rows = await result.locator('.scores tr').allTextContents()
    expect(rows).toHaveLength(3)
    // The most similar pair comes first.
    expect(rows[0]).toMatch(/^Text 1 and text 21 ↔ 20\.[5-9]\d{3}$/)
    const bars = await result
      .locator('.share .span')
      .evaluateAll((spans) => spans.map((span) => Number(span.getAttribute('width'))))
    expect(bars[0]).toBeGreaterThan(500)
    expect(bars[1]).toBeLessThan(500)
    await expectInspected(page, 'demo-openai demo-embedding')
    await eventually(() => figures(page)).toMatch(/Duration[\d.]+ m?s.*Input\d+ tokensCost\$0\.00125Request/)
    await page.getByRole('button', { name: 'Remove text 3' }).click()
    expect(await page.getByLabel('Text 3', { exact: true }).count()).toBe(0)
    await expectClean(page, wrongs, place[3])
    await close()
  })

  it.each(places)(`generate, download and edit images, ${where}`, async (...place) => {
    const { page, wrongs, close } = await start('images', place)
    await eventually(() => page.getByLabel('Model', { exact: true }).inputValue()).toBe('demo-image')
    await page.getByLabel('Prompt').fill('A fox')
    await page.getByLabel('Size').fill('512x512')
    await page.getByLabel('Number').fill('2')
    await page.getByLabel('Quality').selectOption('low')
    await page.getByLabel('Background').selectOption('transparent')
    const result = await run(page, 'Generate')
    expect(sent()?.path).toBe('/v1/images/generations')
    expect(sent()?.body).toMatchObject({ prompt: 'A fox', n: 2, size: '512x512', quality: 'low' })
    // Both are decoded: the policy of the page allows them.
    await eventually(() =>
      result.locator('img').evaluateAll((images) => images.map((image) => (image as HTMLImageElement).naturalWidth)),
    ).toEqual([512, 512])
    await eventually(() => figures(page)).toMatch(/Images2/)
    const download = page.waitForEvent('download')
    await result.getByRole('button', { name: 'Download image 2' }).click()
    expect((await download).suggestedFilename()).toBe('image-2.png')
    const png = readFileSync(await (await download).path())
    expect(png.subarray(1, 4).toString()).toBe('PNG')

    await result.getByRole('button', { name: 'Edit image 2' }).click()
    await page.locator('.files-field img').waitFor()
    await page.getByLabel('Prompt').fill('With a hat')
    const edited = await run(page, 'Generate')
    expect(sent()?.path).toBe('/v1/images/edits')
    expect(fieldsOf(sent()?.form)).toEqual(
      expect.arrayContaining([
        ['prompt', 'With a hat'],
        ['n', '2'],
        ['image', 'image-2.png'],
      ]),
    )
    expect(Buffer.from(sent()?.form?.find(({ name }) => name === 'image')?.bytes ?? []).equals(png)).toBe(true)
    await edited.getByText('edits image-2.png').waitFor()
    expect(await page.locator('.run').count()).toBe(2)
    await expectInspected(page, 'demo-openai demo-image')
    await expectClean(page, wrongs, place[3])
    await close()
  })

  it.each(places)(`speak a text and transcribe it, ${where}`, async (...place) => {
    const { page, wrongs, close } = await start('speech', place)
    await page.getByLabel('Text', { exact: true }).fill('Hello over there')
    await page.getByLabel('Voice').fill('nova')
    await page.getByLabel('Format').selectOption('wav')
    await page.getByLabel('Speed').fill('1.5')
    const result = await run(page, 'Speak')
    expect(sent()?.body).toMatchObject({ input: 'Hello over there', voice: 'nova', response_format: 'wav', speed: 1.5 })
    // The player has read the file: the policy of the page allows it.
    const duration = (): Promise<number> =>
      result.locator('audio').evaluate((audio) => (audio as HTMLAudioElement).duration)
    await eventually(duration).toBeGreaterThan(0.3)
    await eventually(() => figures(page)).toMatch(/Characters16/)
    const download = page.waitForEvent('download')
    await result.getByRole('button', { name: 'Download the audio' }).click()
    expect((await download).suggestedFilename()).toBe('speech.wav')
    await expectInspected(page, 'demo-openai demo-speech')
    await expectClean(page, wrongs, place[3])

    await result.getByRole('button', { name: 'Transcribe it' }).click()
    await page.getByRole('heading', { name: 'Transcription' }).waitFor()
    expect(page.url()).toBe(`${scene.url}#tab=transcription`)
    await page.getByLabel('Language').fill('de')
    const streamed = await run(page, 'Transcribe')
    await streamed.getByText(/^I heard [\d.]+ seconds of sound\. The file is “speech\.wav”/).waitFor()
    expect(fieldsOf(sent()?.form)).toEqual([
      ['model', 'demo-transcribe'],
      ['language', 'de'],
      ['stream', 'true'],
      ['file', 'speech.wav'],
    ])
    expect(await page.locator('.events li').count()).toBeGreaterThan(5)

    await page.getByLabel('Response format').selectOption('verbose_json')
    await page.getByLabel('Times of words').check()
    const verbose = await run(page, 'Transcribe')
    await verbose.getByText(/^Segments \(\d\)/).waitFor()
    expect(await verbose.locator('.times').first().locator('tbody tr').first().textContent()).toMatch(
      /^0:00\.00 – 0:0\d\.\d\dI heard/,
    )
    await verbose.getByText(/^Words \(\d+\)/).click()
    await verbose.getByText(/^german · [\d.]+ s$/).waitFor()

    await page.getByLabel('Response format').selectOption('srt')
    const subtitles = await run(page, 'Transcribe')
    expect(await subtitles.locator('.subtitles').textContent()).toMatch(/^1\n00:00:00,000 --> /)
    expect(await page.locator('.run').count()).toBe(3)
    await expectClean(page, wrongs, place[3])
    await close()
  })

  it.each(places)(`rerank documents, ${where}`, async (...place) => {
    const { page, wrongs, close } = await start('rerank', place)
    await page.getByText('Enter a query.').waitFor()
    await page.getByLabel('Query', { exact: true }).fill('fast red fox')
    await page.getByLabel('Documents', { exact: true }).fill('a soup\nthe red fox is fast\na red door\n')
    await page.getByLabel('Top N').fill('2')
    const result = await run(page, 'Rerank')
    expect(sent()?.body).toMatchObject({ documents: ['a soup', 'the red fox is fast', 'a red door'], top_n: 2 })
    const rows = await result.locator('tbody tr').allTextContents()
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatch(/^10\.\d{4}the red fox is fast document 2$/)
    expect(rows[1]).toMatch(/^20\.\d{4}a red door document 3$/)
    await eventually(() => figures(page)).toMatch(/Searches1/)

    await page.getByLabel('Client format').selectOption('rerank-v2')
    await page.getByLabel(/^One input per document/).check()
    await page.getByLabel('Document 1', { exact: true }).fill('a soup\nof two lines')
    const second = await run(page, 'Rerank')
    await second.getByText('the red fox is fast').waitFor()
    expect(sent()?.path).toBe('/v2/rerank')
    expect(sent()?.body).toMatchObject({ documents: ['a soup\nof two lines', 'the red fox is fast', 'a red door'] })
    await expectInspected(page, 'demo-cohere demo-rerank')
    await expectClean(page, wrongs, place[3])
    await close()
  })
})
