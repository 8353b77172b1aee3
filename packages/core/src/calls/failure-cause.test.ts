import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import { unreachable } from '../upstreams/upstream-error.ts'
import type { AttemptLog } from './call.ts'
import { failureCause, recordFailureCause } from './failure-cause.ts'

const system = (members: object, cause?: unknown): Error =>
  Object.assign(new Error('secret text', cause === undefined ? {} : { cause }), members)

const cases: readonly [string, unknown, object | undefined][] = [
  [
    'a refused connection',
    system({ code: 'ECONNREFUSED', address: '127.0.0.1', port: 9000 }),
    { code: 'ECONNREFUSED', address: '127.0.0.1:9000' },
  ],
  [
    'an address of IPv6',
    system({ code: 'ECONNREFUSED', address: '::1', port: 9000 }),
    { code: 'ECONNREFUSED', address: '[::1]:9000' },
  ],
  [
    'a name that does not resolve',
    system({ code: 'ENOTFOUND', hostname: 'api.test' }),
    { code: 'ENOTFOUND', address: 'api.test' },
  ],
  [
    'fetch, which wraps the error',
    new TypeError('fetch failed', { cause: system({ code: 'ECONNRESET' }) }),
    { code: 'ECONNRESET' },
  ],
  [
    'several addresses of one name',
    new TypeError('fetch failed', {
      cause: Object.assign(
        new AggregateError([system({ code: 'ECONNREFUSED', address: '::1', port: 1 }), system({ code: 'EACCES' })]),
        { code: 'ECONNREFUSED' },
      ),
    }),
    { code: 'ECONNREFUSED', address: '[::1]:1' },
  ],
  [
    'undici’s SocketError',
    system({ code: 'UND_ERR_SOCKET', socket: { remoteAddress: '10.0.0.1', remotePort: 443 } }),
    { code: 'UND_ERR_SOCKET', address: '10.0.0.1:443' },
  ],
  ['an expired certificate', system({ code: 'CERT_HAS_EXPIRED' }), { code: 'CERT_HAS_EXPIRED' }],
  [
    'a certificate for another name',
    system({ code: 'ERR_TLS_CERT_ALTNAME_INVALID', host: 'api.test', cert: {} }),
    { code: 'ERR_TLS_CERT_ALTNAME_INVALID', address: 'api.test' },
  ],
  ['a URL with credentials', system({ code: 'X', hostname: 'http://me:secret@host/?key=secret' }), { code: 'X' }],
  ['a code that is a sentence', system({ code: 'secret: abc', path: '/x?key=secret' }), undefined],
  ['a very long code and address', system({ code: 'E'.repeat(1000), address: 'a'.repeat(1000) }), undefined],
  ['a code that is a number', system({ code: 20 }), undefined],
  ['an error without a code', new Error('secret'), undefined],
  ['no error', undefined, undefined],
]

describe('failureCause', () => {
  it.each(cases)('reads %s', (_, cause, expected) => {
    expect(failureCause(cause)).toEqual(expected)
    expect(JSON.stringify(failureCause(cause)) ?? '').not.toContain('secret')
  })

  it('ends at an error that is its own cause', () => {
    const error = system({ code: 'ELOOP' })
    Object.assign(error, { cause: error })
    expect(failureCause(error)).toEqual({ code: 'ELOOP' })
  })

  it('reads the error of the runtime’s own fetch', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    await new Promise((resolve) => server.close(resolve))
    const error = await fetch(`http://127.0.0.1:${port}/?key=secret`).catch(unreachable)
    const log = {} as AttemptLog
    recordFailureCause(log, error as GatewayError)
    expect(log.cause).toEqual({ code: 'ECONNREFUSED', address: `127.0.0.1:${port}` })
  })

  it('records nothing for a call that was cancelled', () => {
    const log = {} as AttemptLog
    recordFailureCause(log, new GatewayError('cancelled', 'x', { cause: system({ code: 'ABORT_ERR' }) }))
    expect(log).toEqual({})
  })
})
