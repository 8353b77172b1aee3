import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { createFakeGateway } from '../testing/fake-gateway.ts'
import { createNodeHandler } from './handler.ts'

it.each([
  ['/v1/echo', true],
  ['/v1/echo?a=/nope', true],
  // What clients send that take the server for a proxy: answered, so it must be matched too.
  ['http://host/v1/echo?a', true],
  ['http://host/nope', false],
  ['/nope', false],
  ['*', false],
])('matches(%s) returns %s', (url, expected) => {
  const handle = createNodeHandler(createFakeGateway())
  expect(handle.matches({ method: 'POST', url } as IncomingMessage)).toBe(expected)
})
