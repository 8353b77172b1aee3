import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { createFakeGateway } from '../testing/fake-gateway.ts'
import { createNodeHandler } from './handler.ts'

it.each([
  ['/v1/echo', true],
  ['/v1/echo?a=/nope', true],
  // Clients that use the server as a proxy send absolute URLs.
  ['http://host/v1/echo?a', true],
  ['http://host/nope', false],
  ['/nope', false],
  ['*', false],
])('matches(%s) returns %s', (url, expected) => {
  const handle = createNodeHandler(createFakeGateway())
  expect(handle.matches({ method: 'POST', url } as IncomingMessage)).toBe(expected)
})
