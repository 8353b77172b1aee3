import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminToken, openAsAdmin, type Platform, places, servePlatform } from './admin.test-support.ts'
import { closeBrowser, open, seriousViolations, withoutBrowser } from './browser.test-support.ts'
import { unexpected } from './playground.test-support.ts'

const [place] = places
if (place === undefined) throw new Error('no host')

/** Returns the secret that the page shows once. */
async function shownSecret(page: Page): Promise<string> {
  await page.getByText("Copy this token now. It won't be shown again.").waitFor()
  return (await page.locator('.notice code').textContent()) ?? ''
}

describe.skipIf(withoutBrowser)('the page of tokens in a browser', { timeout: 120_000 }, () => {
  afterAll(closeBrowser)

  describe.each(places)("on $name, mounted at '$mount/'", (host) => {
    let platform: Platform
    beforeAll(async () => {
      platform = await servePlatform(host)
    })
    afterAll(() => platform.close())

    it('issues, edits, rotates and revokes a token', async () => {
      const { call, root } = platform
      const { page, wrongs, close } = await open(`${root}/console/tokens`)
      await page.getByLabel('Admin token').fill(adminToken)
      await page.getByRole('button', { name: 'Show tokens' }).click()
      await page.getByText('No token was issued yet.').waitFor()

      await page.getByRole('link', { name: 'Issue token' }).click()
      await page.getByLabel('Name').fill('laptop')
      await page.getByRole('textbox', { name: 'Owner' }).last().fill('ada')
      await page.getByRole('button', { name: 'Add limit' }).click()
      await page.getByLabel('Requests').fill('2')
      await page.getByLabel('Window').selectOption('hour')
      await page.getByRole('button', { name: 'Add budget' }).click()
      await page.getByLabel('Amount').fill('5')
      await page.getByRole('button', { name: 'Issue token' }).click()
      const first = await shownSecret(page)
      expect(await call(first)).toBe(200)
      await page.getByRole('button', { name: 'Copy the token', exact: true }).click()
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(first)
      const row = page.locator('.token-row')
      expect(await row.textContent()).toMatch(/laptopadaactivemg-/)
      expect(new URL(page.url()).hash).toMatch(/^#id=tok_/)

      // The secret is shown once, and stored nowhere.
      await page.reload()
      await page.getByRole('heading', { name: 'Usage of the last 30 days' }).waitFor()
      expect(await page.content()).not.toContain(first)
      expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).not.toContain(first)
      expect(await page.locator('.count-usages').textContent()).toMatch(/Money per month.*of \$5\.00.*1 of 2/)

      expect([await call(first), await call(first)]).toEqual([200, 429])
      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByLabel('Requests').fill('50')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('2 of 50').waitFor()
      expect(await call(first)).toBe(200)

      await page.getByRole('button', { name: 'Rotate …' }).click()
      await page.getByLabel('The old secret stays valid for').selectOption('End at once')
      await page.getByRole('button', { name: 'Rotate token' }).click()
      const second = await shownSecret(page)
      expect(second).not.toBe(first)
      expect([await call(first), await call(second)]).toEqual([401, 200])
      await page.locator('.token-row', { hasText: 'rotated' }).waitFor()
      await page.getByRole('button', { name: 'Hide' }).click()
      expect(await page.content()).not.toContain(second)

      await page.getByRole('button', { name: 'Revoke …' }).click()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await call(second)).toBe(200)
      await page.getByRole('button', { name: 'Revoke …' }).click()
      await page.getByRole('button', { name: 'Revoke token' }).click()
      await page.locator('.token-row', { hasText: 'revoked' }).waitFor()
      expect(await call(second)).toBe(401)
      expect(await page.getByRole('button', { name: 'Rotate …' }).count()).toBe(0)
      expect(unexpected(wrongs)).toEqual([])
      await close()
    })
  })

  describe('behind one host', () => {
    let platform: Platform
    beforeAll(async () => {
      platform = await servePlatform(place)
      const { issue } = platform
      await issue({ name: 'laptop', owner: 'ada', limits: { requests: 60 }, budget: { money: 20, period: 'month' } })
      for (let index = 0; index < 51; index++) await issue({ name: `service ${index}`, owner: 'platform' })
    })
    afterAll(() => platform.close())

    it('pages through tokens, and searches by owner', async () => {
      const { page, close } = await openAsAdmin(platform.root, 'tokens')
      const rows = page.locator('.token-row')
      await rows.nth(49).waitFor()
      expect(await rows.count()).toBe(50)
      await page.getByRole('button', { name: 'Show more tokens' }).click()
      await rows.nth(51).waitFor()
      expect(await page.getByRole('button', { name: 'Show more tokens' }).count()).toBe(0)
      await page.getByLabel('Owner').fill('ada')
      await rows.nth(1).waitFor({ state: 'detached' })
      expect(await rows.textContent()).toContain('laptop')
      await page.getByLabel('Owner').fill('nobody')
      await page.getByText('This owner has no tokens.').waitFor()
      await close()
    })

    it('shows errors of the gateway at their fields, and keeps what was typed', async () => {
      const { page, close } = await openAsAdmin(platform.root, 'tokens')
      await page.getByRole('link', { name: 'Issue token' }).click()
      await page.getByLabel('Name').fill('typed')
      const expectWrong = async (label: string, text: RegExp): Promise<void> => {
        await page.getByRole('button', { name: 'Issue token' }).click()
        const field = page.getByLabel(label, { exact: true }).last()
        await page.locator('.settings-form .wrong', { hasText: text }).waitFor()
        expect(await field.getAttribute('aria-invalid')).toBe('true')
        expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
        expect(await page.getByLabel('Name').inputValue()).toBe('typed')
      }
      await page.getByLabel('Expires').fill('2020-01-01T10:00')
      await expectWrong('Expires', /in the past/)
      await page.getByLabel('Expires').fill('')
      await page.getByRole('button', { name: 'Add limit' }).click()
      await page.getByRole('button', { name: 'Issue token' }).click()
      await page
        .getByRole('alert')
        .getByText(/sets no limit/)
        .waitFor()
      await page.getByLabel('Input tokens').fill('many')
      await expectWrong('Input tokens', /is 'many'/)
      await page.getByLabel('Window').selectOption('Per number of seconds')
      await page.getByLabel('Seconds').fill('-1')
      await page.getByLabel('Input tokens').fill('100')
      await expectWrong('Seconds', /window/)
      await page.getByRole('button', { name: 'Remove limit 1' }).click()
      await page.getByRole('button', { name: 'Add budget' }).click()
      await expectWrong('Amount', /money/)
      await close()
    })

    it('works with the keyboard alone', async () => {
      const { page, close } = await openAsAdmin(platform.root, 'tokens')
      const row = page.locator('.token-row').first()
      await row.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Revoke …' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog', { name: /^Revoke / }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Close' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('Choose a token').waitFor()
      expect(await row.evaluate((element) => element === document.activeElement)).toBe(true)
      await close()
    })

    it.each([
      ['light', { width: 1280, height: 800 }],
      ['dark', { width: 1280, height: 800 }],
      ['light', { width: 390, height: 844 }],
      ['dark', { width: 390, height: 844 }],
    ] as const)('has no serious accessibility violation in %s at %j', async (colorScheme, viewport) => {
      const { page, close } = await openAsAdmin(platform.root, 'tokens', { colorScheme, viewport })
      const check = async (): Promise<void> => {
        expect(await seriousViolations(page)).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
      }
      const row = page.locator('.token-row', { hasText: 'ada' })
      await row.waitFor()
      await check()
      await row.click()
      await page.getByText('0 of 60').waitFor()
      await check()
      await page.getByRole('button', { name: 'Rotate …' }).click()
      await page.getByRole('dialog').waitFor()
      await check()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByLabel('Amount').waitFor()
      await check()
      await close()
    })
  })
})
