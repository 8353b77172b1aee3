import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startExample, stopExamples } from './start-example.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-login-'))
let root = ''

const start = async (env: Record<string, string> = {}) => {
  const example = startExample('./express-login/main.js', { DATA: folder, ...env })
  const [, output = ''] = await example.waitForOutput(/(http:\S+) to sign up/)
  root = output
  return example
}

/** A minimal browser: keeps its cookie, sends the origin of forms and follows no redirects. */
function browser() {
  let cookie = ''
  const visit = async (path: string, init: RequestInit = {}) => {
    const headers = { 'sec-fetch-site': 'same-origin', cookie, ...(init.headers as Record<string, string>) }
    const response = await fetch(root + path, { redirect: 'manual', ...init, headers })
    const set = response.headers.get('set-cookie')
    if (set !== null) cookie = set.split(';')[0] ?? ''
    return { status: response.status, text: await response.text(), cookie: set, headers: response.headers }
  }
  return {
    visit,
    send: (path: string, form: Record<string, string> = {}, headers: Record<string, string> = {}) =>
      visit(path, { method: 'POST', body: new URLSearchParams(form), headers }),
    cookie: () => cookie,
  }
}

const password = 'correct horse battery'
const signUp = async (name: string) => {
  const user = browser()
  expect(await user.send('/signup', { name, password })).toMatchObject({ status: 303 })
  return user
}
const secretIn = (text: string): string => /mg-[0-9A-Za-z]{49}/.exec(text)?.[0] ?? ''
const idIn = (text: string): string => /\/tokens\/(\w+)\/revoke/.exec(text)?.[1] ?? ''
const ask = (secret: string) =>
  fetch(`${root}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'claude-opus-5', messages: [{ role: 'user', content: 'hello' }] }),
  })

describe('examples/express-login', () => {
  beforeAll(async () => void (await start()))
  afterAll(() => {
    stopExamples()
    rmSync(folder, { recursive: true })
  })

  it('issues a token to a user, shows its secret once, and shows its usage', async () => {
    const ada = await signUp('ada')
    const issued = await ada.send('/tokens', { name: '<b>laptop</b>' })
    expect(issued.status).toBe(201)
    expect(issued.headers.get('cache-control')).toBe('no-store')
    const secret = secretIn(issued.text)
    const answer = await ask(secret)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('60')
    expect(await answer.json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
    const { text } = await ada.visit('/')
    expect(text).toContain('1 of 60 requests a minute')
    expect(text).toMatch(/[1-9]\d* of 1,000,000 tokens a month/)
    expect(text).toContain('1 calls')
    expect(text).toContain('&lt;b&gt;laptop&lt;/b&gt;')
    expect(text).not.toContain('<b>')
    expect(text).not.toContain(secret)
  })

  it('lets only the owner see, rotate or revoke a token', async () => {
    const [bob, eve] = await Promise.all([signUp('bob'), signUp('eve')])
    const { text } = await bob.send('/tokens', { name: 'desk' })
    const secret = secretIn(text)
    const id = idIn(text)
    expect((await eve.visit('/')).text).not.toContain('desk')
    for (const way of ['renew', 'revoke']) {
      expect((await eve.send(`/tokens/${id}/${way}`)).status).toBe(404)
      expect((await browser().send(`/tokens/${id}/${way}`)).status).toBe(401)
    }
    expect((await ask(secret)).status).toBe(200)
    const renewed = secretIn((await bob.send(`/tokens/${id}/renew`)).text)
    expect([(await ask(secret)).status, (await ask(renewed)).status]).toEqual([401, 200])
    expect((await bob.send(`/tokens/${id}/revoke`)).status).toBe(303)
    expect((await ask(renewed)).status).toBe(401)
  })

  it('allows three tokens per user and month, also with parallel requests or revoked tokens', async () => {
    const max = await signUp('max')
    const answers = await Promise.all(Array.from({ length: 6 }, () => max.send('/tokens')))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409])
    await max.send(`/tokens/${idIn((await max.visit('/')).text)}/revoke`)
    expect((await max.send('/tokens')).status).toBe(409)
  })

  it.each([
    ['a form on another site', { 'sec-fetch-site': 'cross-site' }],
    ['one on a neighbour of this site', { 'sec-fetch-site': 'same-site' }],
    ['an older browser with a form on another site', { 'sec-fetch-site': '', origin: 'https://evil.example' }],
    ['a page without an origin', { 'sec-fetch-site': '', origin: 'null' }],
  ])('rejects %s', async (_, headers) => {
    const own = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''))
    const dora = browser()
    const response = await fetch(`${root}/login`, {
      method: 'POST',
      body: new URLSearchParams({ name: 'ada', password }),
      headers: { cookie: dora.cookie(), ...own },
    })
    expect(response.status).toBe(403)
  })

  it('stores no password, session or secret in plain text', async () => {
    const kept = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:json|db|db-wal)$/.test(name))
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join()
    expect(kept).toContain('"name": "ada"')
    expect(kept).toContain('scrypt:')
    expect(kept).not.toContain(password)
    expect(secretIn(kept)).toBe('')
  })

  it('responds to an unknown name as to a wrong password, and limits attempts', async () => {
    const guesser = browser()
    const wrong = await guesser.send('/login', { name: 'ada', password: 'wrong' })
    const unknown = await guesser.send('/login', { name: 'nobody', password: 'wrong' })
    expect(unknown).toMatchObject({ status: 400, text: wrong.text })
    expect(wrong.cookie).toBeNull()
    for (let attempt = 1; attempt < 5; attempt++) await guesser.send('/login', { name: 'ada', password: 'wrong' })
    expect((await guesser.send('/login', { name: 'ada', password })).text).toContain('Too many attempts')
  })

  it('ends a session on logout, and creates a new one with each login', async () => {
    const tom = await signUp('tom')
    const first = tom.cookie()
    await tom.send('/login', { name: 'tom', password })
    expect(tom.cookie()).not.toBe(first)
    const stolen = tom.cookie()
    await tom.send('/logout')
    for (const cookie of [first, stolen])
      expect((await browser().visit('/', { headers: { cookie } })).text).toContain('Log in')
  })

  it.each([
    ['a name that is taken', { name: 'ada', password }, 'taken'],
    ['a name that is none', { name: '<script>', password }, 'A name is'],
    ['a short password', { name: 'kim', password: 'short' }, 'A password is'],
  ])('rejects the sign-up of %s', async (_, form, words) => {
    const answer = await browser().send('/signup', form)
    expect(answer).toMatchObject({ status: 400, cookie: null })
    expect(answer.text).toContain(words)
  })
})

describe('examples/express-login after a restart', () => {
  const own = mkdtempSync(join(tmpdir(), 'modelgate-login-'))
  afterEach(stopExamples)
  afterAll(() => rmSync(own, { recursive: true }))

  it('keeps users and tokens, and sets secure cookies behind https', async () => {
    const first = await start({ DATA: own, PUBLIC_URL: 'https://models.example' })
    const user = browser()
    const entered = await user.send('/signup', { name: 'ada', password })
    expect(entered.cookie).toMatch(/^__Host-session=[\w-]{43}; Max-Age=\d+; Path=\/; .*HttpOnly; Secure; SameSite=Lax$/)
    const { text } = await user.send('/tokens')
    expect(text).toContain('https://models.example/v1')
    first.signal('SIGTERM')
    expect(await first.ended).toBe(0)
    await start({ DATA: own })
    expect((await ask(secretIn(text))).status).toBe(200)
    expect(await browser().send('/login', { name: 'ada', password })).toMatchObject({ status: 303 })
  })
})
