import { cohere, openai } from '@modelgate/core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Opened, open, patienceMs } from './browser.test-support.ts'
import { checkToken, type Scene, serveDemo } from './playground.test-support.ts'

const apiKey = 'sk-upstream-0123456789'

/** Serves a gateway with a model for each tab of the Playground. */
export const serveOperations = (
  host: string,
  mount: '' | '/ai',
  paceMs = 0,
  own: Parameters<typeof serveDemo>[3] = {},
): Promise<Scene> =>
  serveDemo(host, mount, paceMs, {
    upstreams: {
      'demo-openai': openai({ apiKey, baseURL: 'http://provider.test/v1', formats: ['chat'] }),
      'demo-cohere': cohere({ apiKey, baseURL: 'http://provider.test' }),
    },
    models: {
      'demo-chat': 'demo-openai',
      'demo-embedding': 'demo-openai',
      'demo-image': 'demo-openai',
      'demo-transcribe': 'demo-openai',
      'demo-speech': 'demo-openai',
      'demo-rerank': 'demo-cohere',
      'dall-e-*': 'demo-openai',
    },
    retry: { attempts: 1 },
    ...own,
  })

/** Opens a tab of the Playground by its address, with a token that is checked. */
export async function openTab(scene: Scene, tab: string, options?: BrowserContextOptions): Promise<Opened> {
  const opened = await open(`${scene.url}#tab=${tab}`, options)
  await checkToken(opened.page, 'right')
  await opened.page.getByText('Valid token · 6 models available').waitFor()
  return opened
}

/** Presses the button that makes the call, and waits until the newest result is complete. */
export async function run(page: Page, action: string) {
  const before = await page.locator('.run').count()
  await page.getByRole('button', { name: action, exact: true }).click()
  const result = page.locator('.run').nth(0)
  await page.locator('.run').nth(before).waitFor()
  await result.locator('article[aria-busy=false]').waitFor()
  return result
}

/** Returns the width of the page: more than that of the screen if something is too wide. */
export const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth)

/** Waits as long as the browser's own waits do, also on a busy machine. */
export const eventually = <T>(value: () => T) => expect.poll(value, { timeout: patienceMs })
