import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { authorizeWithGoogle } from './google-account.ts'

/** Replaces google-auth-library: returns the tokens `g1`, `g2`, …, each valid for an hour. */
function library(fail: { client?: boolean; token?: boolean } = {}) {
  const calls: unknown[] = []
  let tokens = 0
  const client = {
    credentials: {} as { expiry_date?: number | null },
    getRequestHeaders: vi.fn(async () => {
      if (fail.token === true) throw new Error('invalid_grant')
      client.credentials = { expiry_date: Date.now() + 3_600_000 }
      return new Headers({ Authorization: `Bearer g${++tokens}`, 'x-goog-user-project': 'quota' })
    }),
  }
  class GoogleAuth {
    constructor(options: unknown) {
      calls.push(options)
    }
    async getClient() {
      if (fail.client === true) throw new Error('Could not load the default credentials.')
      return client
    }
  }
  vi.doMock('google-auth-library', () => ({ GoogleAuth }))
  return { calls, client, fail }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.doUnmock('google-auth-library')
  vi.resetModules()
})

const scopes = 'https://www.googleapis.com/auth/cloud-platform'

describe("Google's credentials", () => {
  it.each([
    [{}, { scopes }],
    [{ keyFile: 'key.json' }, { scopes, keyFilename: 'key.json' }],
    [{ credentials: { client_email: 'a@b' } }, { scopes, credentials: { client_email: 'a@b' } }],
  ])('are requested with %j', async (account, options) => {
    const { calls } = library()
    expect(await authorizeWithGoogle(account)()).toEqual({ authorization: 'Bearer g1', 'x-goog-user-project': 'quota' })
    expect(calls).toEqual([options])
  })

  it('are requested once for all calls until shortly before they expire', async () => {
    const { calls, client } = library()
    const headers = authorizeWithGoogle({})
    const first = await Promise.all([headers(), headers(), headers()])
    expect(new Set(first.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer g1']))
    vi.advanceTimersByTime(3_500_000)
    expect(await headers()).toMatchObject({ authorization: 'Bearer g1' })
    vi.advanceTimersByTime(60_000)
    expect(await headers()).toMatchObject({ authorization: 'Bearer g2' })
    expect([calls.length, client.getRequestHeaders.mock.calls.length]).toEqual([1, 2])
  })

  it.each(['client', 'token'] as const)('are requested again after a failure of the %s', async (part) => {
    const { fail } = library({ [part]: true })
    const headers = authorizeWithGoogle({})
    await expect(headers()).rejects.toThrow()
    fail[part] = false
    expect(await headers()).toMatchObject({ authorization: 'Bearer g1' })
  })

  it('are rejected without an access token', async () => {
    const { client } = library()
    client.getRequestHeaders.mockImplementation(async () => new Headers())
    await expect(authorizeWithGoogle({})()).rejects.toThrow('returned no access token')
  })

  it('cause an error that names the missing package', async () => {
    vi.doMock('google-auth-library', () => {
      throw new Error('Cannot find package')
    })
    await expect(authorizeWithGoogle({})()).rejects.toThrow('npm install google-auth-library')
  })
})

describe("Google's credentials on runtimes without the library", () => {
  it('cause an error that names the alternatives', async () => {
    vi.doMock('google-auth-library', () => import('./google-auth-stub.ts'))
    await expect(authorizeWithGoogle({})()).rejects.toThrow('set token or apiKey in vertex()')
  })
})

describe('google-auth-library itself', () => {
  it('returns the headers that this package needs', async () => {
    const { GoogleAuth, OAuth2Client } = await import('google-auth-library')
    const auth = new GoogleAuth({
      scopes,
      credentials: { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r' },
    })
    const client = await auth.getClient()
    expect(client).toBeInstanceOf(OAuth2Client)
    client.setCredentials({ access_token: 'at', expiry_date: Date.now() + 3_600_000 })
    const headers = Object.fromEntries(await client.getRequestHeaders())
    expect(headers).toEqual({ authorization: 'Bearer at' })
    expect(client.credentials.expiry_date).toBeGreaterThan(Date.now())
  })
})
