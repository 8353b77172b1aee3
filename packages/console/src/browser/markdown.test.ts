import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeBrowser, type Served, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { openParts, serveParts, show } from './parts-page.test-support.ts'

const sample = `# Title

Some **bold**, *soft* and \`code\`, a [link](https://a.example/page) and a picture: ![cat](https://a.example/cat.png)

1. one
   - deeper
2. two

- [x] done
- [ ] to do

| left | right |
|:-----|------:|
| a    | 1     |

> quoted

\`\`\`ts
const answer: string = 'yes' // sure
\`\`\`
`

const hostile = `<script>window.ran = 1</script>
<img src=x onerror="window.ran = 2">
<iframe srcdoc="<script>parent.ran = 3</script>"></iframe>
<svg onload="window.ran = 4"></svg>
<style>body { display: none }</style>

[run](javascript:window.ran=5) [run](JaVaScRiPt:window.ran=6) [run](data:text/html,<script>parent.ran=7</script>)
![x](https://tracker.example/pixel.png) ![x](javascript:window.ran=8)
`

describe.skipIf(withoutBrowser)('markdown in a browser', { timeout: 120_000 }, () => {
  let served: Served
  beforeAll(async () => {
    served = await serveParts()
  })
  afterAll(async () => {
    await served.close()
    await closeBrowser()
  })

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('has no serious accessibility violation in %s at a width of %i', async (colorScheme, width) => {
    const { page, wrongs, close } = await openParts(served, { colorScheme, viewport: { width, height: 800 } })
    await show(page, { part: 'markdown', text: sample, streaming: false })
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(1)
    expect(await page.getByRole('columnheader').count()).toBe(2)
    expect(await seriousViolations(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    expect(wrongs).toEqual([])
    await close()
  })

  it('copies code unchanged', async () => {
    const { page, close } = await openParts(served)
    await show(page, { part: 'markdown', text: sample, streaming: false })
    await page.getByRole('button', { name: 'Copy the ts code' }).click()
    await page.getByText('Copied the ts code').waitFor({ state: 'attached' })
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("const answer: string = 'yes' // sure")
    await close()
  })

  it('keeps a hostile response inert, whole or streamed', async () => {
    const { page, wrongs, close } = await openParts(served)
    for (let end = 0; end <= hostile.length; end += 7)
      await show(page, { part: 'markdown', text: hostile.slice(0, end), streaming: true })
    await show(page, { part: 'markdown', text: hostile, streaming: false })
    await page.getByText('<iframe srcdoc').waitFor()
    for (const link of await page.locator('.markdown a').all())
      expect(await link.getAttribute('href')).toBe('https://tracker.example/pixel.png')
    expect(await page.locator('.markdown :is(script, img, iframe, svg, style)').count()).toBe(0)
    expect(await page.evaluate(() => (window as { ran?: number }).ran)).toBeUndefined()
    expect(wrongs).toEqual([])
    await close()
  })

  it('shows a stream as it arrives, and all of it at its end', async () => {
    const { page, close } = await openParts(served)
    for (let words = 1; words <= 60; words++)
      await show(page, { part: 'markdown', text: 'word '.repeat(words), streaming: words < 60 })
    expect((await page.locator('.markdown').textContent())?.trim().split(' ')).toHaveLength(60)
    await show(page, { part: 'markdown', text: `${'word '.repeat(60)}and more`, streaming: true })
    // No further text arrives: the withheld rest must appear.
    await page.getByText('and more').waitFor()
    await close()
  })

  it.each([
    ['paragraphs', 'Some **bold** text with `code` and a [link](https://a.example).\n\n'],
    ['one long list', '- an item of a list, with **bold** text\n'],
    ['one paragraph', 'Some **bold** text that goes on and on. '],
    ['a code block', 'const a = "b" // c\n'],
    ['a table', '| a | b |\n'],
  ])('stays responsive with a megabyte of %s', async (kind, unit) => {
    const { page, close } = await openParts(served)
    const body = unit.repeat(Math.ceil(1_000_000 / unit.length))
    const text = { 'a code block': `\`\`\`js\n${body}`, 'a table': `| a | b |\n|---|---|\n${body}` }[kind] ?? body
    const longest = await page.evaluate(async (text) => {
      const { show } = window as unknown as { show(wanted: object): void }
      let longest = 0
      let last = performance.now()
      const timer = setInterval(() => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }, 5)
      show({ part: 'markdown', text, streaming: false })
      await new Promise((resolve) => setTimeout(resolve, 1000))
      clearInterval(timer)
      return Math.round(longest)
    }, text)
    process.stdout.write(`console: a megabyte of ${kind}: the page was busy for ${longest} ms at most\n`)
    expect(longest).toBeLessThan(2000)
    await close()
  })

  it('stays responsive while the last tenth of a megabyte streams in', async () => {
    const { page, close } = await openParts(served)
    const text = `${sample}\n`.repeat(Math.ceil(1_000_000 / sample.length))
    const longest = await page.evaluate(async (text) => {
      const { show } = window as unknown as { show(wanted: object): void }
      const start = Math.round(text.length * 0.9)
      show({ part: 'markdown', text: text.slice(0, start), streaming: true })
      await new Promise((resolve) => setTimeout(resolve, 3000))
      let longest = 0
      let last = performance.now()
      for (let end = start; end < text.length; end += 4000) {
        show({ part: 'markdown', text: text.slice(0, end), streaming: true })
        await new Promise((resolve) => setTimeout(resolve, 60))
        longest = Math.max(longest, performance.now() - last - 60)
        last = performance.now()
      }
      return Math.round(longest)
    }, text)
    process.stdout.write(`console: a megabyte that streams: the page was busy for ${longest} ms at most\n`)
    expect(longest).toBeLessThan(2000)
    await close()
  }, 60_000)
})
