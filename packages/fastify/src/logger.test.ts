import { Writable } from 'node:stream'
import { createGateway, openai } from '@modelgate/core'
import Fastify from 'fastify'
import { expect, it } from 'vitest'

it('writes complete errors of the gateway to the logger of Fastify, which is one of pino', async () => {
  const lines: string[] = []
  const stream = new Writable({
    write(bytes, _encoding, done) {
      lines.push(String(bytes))
      done()
    },
  })
  const app = Fastify({ logger: { level: 'warn', stream } })
  const cause = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' })
  const gateway = createGateway({
    auth: () => {
      throw new TypeError('the database is away', { cause })
    },
    upstreams: { a: openai({ apiKey: 'k' }) },
    models: { '*': 'a' },
    responses: { store: false },
    logger: app.log,
  })
  const response = await gateway.fetch('http://gateway/v1/models', { headers: { authorization: 'Bearer x' } })
  expect(response.status).toBe(500)
  expect(lines).toHaveLength(1)
  const line = JSON.parse(lines[0] ?? '')
  expect(line.level).toBe(50)
  expect(line.msg).toMatch(/^modelgate: request req_\w+ failed$/)
  expect(line.err.type).toBe('TypeError')
  expect(line.err.stack).toContain('the database is away')
  expect(line.err.stack).toContain('no connection')
})
