import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminToken, cellsOf, openAsAdmin, type Platform, places, servePlatform } from './admin.test-support.ts'
import { closeBrowser, open, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { unexpected } from './playground.test-support.ts'

const [place] = places
if (place === undefined) throw new Error('no host')

/** Issues two tokens and makes calls with them. */
async function makeCalls({ issue, call }: Platform): Promise<{ readonly laptop: string; readonly batch: string }> {
  const laptop = await issue({ name: 'laptop', owner: 'ada', budget: { money: 20, period: 'month' } })
  const batch = await issue({ name: 'batch', limits: { requests: 4, window: 'hour' } })
  for (const [secret, model] of [
    [laptop.secret, 'priced'],
    [laptop.secret, 'priced'],
    [batch.secret, 'priced'],
    [batch.secret, 'unpriced'],
    [batch.secret, 'unpriced'],
  ] as const)
    expect(await call(secret, model)).toBe(200)
  return { laptop: laptop.id, batch: batch.id }
}

describe.skipIf(withoutBrowser)('the page of usage in a browser', { timeout: 120_000 }, () => {
  afterAll(closeBrowser)

  describe.each(places)("on $name, mounted at '$mount/'", (host) => {
    let platform: Platform
    beforeAll(async () => {
      platform = await servePlatform(host)
      await makeCalls(platform)
    })
    afterAll(() => platform.close())

    it('asks for the admin token, and shows calls, tokens, cost and budgets', async () => {
      const { page, wrongs, close } = await open(`${platform.root}/console/usage`)
      const enter = async (token: string): Promise<void> => {
        await page.getByLabel('Admin token').fill(token)
        await page.getByRole('button', { name: 'Show usage' }).click()
      }
      await enter('wrong')
      await page.getByText('The gateway rejected this token.').waitFor()
      await enter(adminToken)
      await page.locator('.admin-table').waitFor()
      expect((await cellsOf(page, 'tbody')).map((cells) => cells.slice(0, 3))).toEqual([
        ['laptop', 'priced', '2'],
        ['batch', 'priced', '1'],
        ['batch', 'unpriced', '2'],
      ])
      const [head = []] = await cellsOf(page, 'thead')
      const [total = []] = await cellsOf(page, 'tfoot')
      expect(total[0]).toBe('Total')
      expect(total.slice(1)).toHaveLength(head.length - 2)
      expect(total[1]).toBe('5')
      expect(total.at(-2)).toMatch(/^\$0\.\d+$/)
      expect(total.at(-1)).toBe('2')
      await page.getByText('Calls without an issued token are counted only with a ledger.').waitFor()
      const budgets = await page.locator('.token-budgets > li').allTextContents()
      expect(budgets).toHaveLength(2)
      expect(budgets.join()).toMatch(/laptopMoney per month\$0\.\d+ of \$20\.00.*left, resets/)
      expect(budgets.join()).toMatch(/batchRequests per hour3 of 41 left/)
      // The links to other pages, as info.json lists them.
      expect(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()).toEqual([
        'Playground',
        'Usage',
        'Tokens',
      ])
      // Reloaded, the tab still has the token.
      await page.reload()
      await page.locator('.admin-table').waitFor()
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })
  })

  describe('behind one host', () => {
    let platform: Platform
    let ids: { readonly laptop: string; readonly batch: string }
    beforeAll(async () => {
      platform = await servePlatform(place)
      ids = await makeCalls(platform)
    })
    afterAll(() => platform.close())

    it('groups rows by any of token, model and day', async () => {
      const { page, close } = await openAsAdmin(platform.root, 'usage')
      await page.locator('.admin-table').waitFor()
      const counts = async (): Promise<string[][]> =>
        (await cellsOf(page, 'tbody')).map((cells) => cells.filter((cell) => !/[,.$]/.test(cell)).slice(0, 2))
      await page.getByLabel('Token', { exact: true }).nth(1).uncheck()
      expect(await counts()).toEqual([
        ['priced', '3'],
        ['unpriced', '2'],
      ])
      await page.getByRole('checkbox', { name: 'Model' }).uncheck()
      expect(await counts()).toEqual([])
      await page.getByRole('checkbox', { name: 'Day' }).check()
      expect(await counts()).toEqual([[new Date().toISOString().slice(0, 10), '5']])
      await close()
    })

    it('filters by token and model, and keeps the other choices', async () => {
      const { page, close } = await openAsAdmin(platform.root, 'usage')
      await page.locator('.admin-table').waitFor()
      const isFiltered = (text: string) => page.locator('.admin-table tfoot', { hasText: text }).waitFor()
      await page.getByRole('combobox', { name: 'Token' }).selectOption('batch')
      await isFiltered('Total3')
      expect(await page.locator('.token-budgets > li').count()).toBe(1)
      await page.getByRole('combobox', { name: 'Model' }).selectOption('unpriced')
      await isFiltered('Total2')
      await page.getByRole('combobox', { name: 'Token' }).selectOption('laptop')
      await page.getByText('No calls in these days').waitFor()
      await page.getByRole('combobox', { name: 'Model' }).selectOption('')
      await isFiltered('Total2')
      await close()
    })

    it('chooses days, and reports days that the gateway rejects', async () => {
      const { page, close } = await openAsAdmin(platform.root, 'usage')
      await page.locator('.day-chart').waitFor()
      const bars = page.locator('.day-chart g')
      expect(await bars.count()).toBe(30)
      await page.getByRole('button', { name: '7 days' }).click()
      await bars.nth(7).waitFor({ state: 'detached' })
      expect(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true')
      expect(await bars.count()).toBe(7)
      await page.getByRole('tab', { name: 'Cost' }).click()
      expect(await page.getByRole('img').getAttribute('aria-label')).toMatch(
        /^Cost per day from .* at most \$0\.\d+ on/,
      )
      await page.getByLabel('From', { exact: true }).fill('2026-01-01')
      await page.getByLabel('To', { exact: true }).fill('2026-01-31')
      await page.getByText('No calls in these days').waitFor()
      await page.getByLabel('From', { exact: true }).fill('2026-02-01')
      await page
        .getByRole('alert')
        .getByText(/'from' is 2026-02-01/)
        .waitFor()
      await close()
    })

    it('exports the same rows as CSV', async () => {
      const { page, wrongs, close } = await openAsAdmin(platform.root, 'usage')
      await page.locator('.admin-table').waitFor()
      await page.getByRole('combobox', { name: 'Model' }).selectOption('unpriced')
      await page.locator('.admin-table tfoot', { hasText: 'Total2' }).waitFor()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export CSV' }).click(),
      ])
      expect(download.suggestedFilename()).toMatch(/^usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/)
      const lines = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/)
      expect(lines).toHaveLength(2)
      expect(lines[1]).toContain('unpriced')
      expect(lines[1]).toContain(ids.batch)
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })

    it('shows the token that a link names', async () => {
      const { page, close } = await open(`${platform.root}/console/usage#token=${adminToken}&for=${ids.laptop}`)
      await page.locator('.admin-table tfoot', { hasText: 'Total2' }).waitFor()
      expect(page.url()).toBe(`${platform.root}/console/usage#for=${ids.laptop}`)
      await close()
    })

    it.each([
      ['light', { width: 1280, height: 800 }],
      ['dark', { width: 1280, height: 800 }],
      ['light', { width: 390, height: 844 }],
      ['dark', { width: 390, height: 844 }],
    ] as const)('has no serious accessibility violation in %s at %j', async (colorScheme, viewport) => {
      const { page, close } = await openAsAdmin(platform.root, 'usage', { colorScheme, viewport })
      await page.locator('.admin-table').waitFor()
      expect(await seriousViolations(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
      await close()
    })
  })

  it('says that cost is unknown without prices, and that there were no calls', async () => {
    const platform = await servePlatform(place, { prices: false })
    const { page, close } = await openAsAdmin(platform.root, 'usage')
    await page.getByText('No calls in these days').waitFor()
    const { secret } = await platform.issue({ name: 'free' })
    expect(await platform.call(secret)).toBe(200)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('Prices are not configured, so cost is unknown.').waitFor()
    expect((await cellsOf(page, 'thead')).flat()).not.toContain('Cost')
    await page.getByText('These tokens have no budgets and no limits.').waitFor()
    await close()
    await platform.close()
  })
})
