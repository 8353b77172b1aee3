import { expect, it } from 'vitest'
import type { Authenticate } from '../config/config.ts'
import type { Inbound } from '../http/inbound.ts'
import { routes } from '../operations/routes.ts'
import { authenticate } from './authenticate.ts'

const inbound: Inbound = {
  method: 'POST',
  path: '/v1/chat/completions',
  query: '',
  header: (name) => (name === 'authorization' ? 'Bearer t' : undefined),
  read: async () => new Uint8Array(0),
  signal: new AbortController().signal,
}
const route = routes[0] as (typeof routes)[number]
const outcome = (answer: unknown) =>
  (async () => authenticate((() => answer) as unknown as Authenticate, inbound, route, 1000, inbound.signal))().then(
    (identity) => identity,
    (error) => error.info.kind,
  )

it.each([
  [{ id: 'me' }, { id: 'me' }],
  [null, 'authentication'],
  [undefined, 'authentication'],
  // What a function in plain JavaScript answers that only compares tokens.
  [false, 'authentication'],
  ['', 'authentication'],
  [true, 'internal'],
  ['me', 'internal'],
])('auth that answers %o: %o', async (answer, expected) => {
  expect(await outcome(answer)).toEqual(expected)
  expect(await outcome(Promise.resolve(answer))).toEqual(expected)
})

it.each(['x-api-key', 'x-goog-api-key'])('%s with nothing in it is no credential', (name) => {
  const blank = { ...inbound, header: (asked: string) => (asked === name ? ' \t' : undefined) }
  const asked: string[] = []
  const auth: Authenticate = (credential) => {
    asked.push(credential)
    return { id: 'me' }
  }
  expect(() => authenticate(auth, blank, route, 1000, blank.signal)).toThrow("You didn't provide an API key")
  expect(asked).toEqual([])
})
