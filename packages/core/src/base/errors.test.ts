import { describe, expect, it, vi } from 'vitest'
import { lossHeader } from '../formats/loss-header.ts'
import { createReport } from '../formats/loss-report.ts'
import { responseReport } from '../formats/shared/response-losses.ts'
import { openai } from '../upstreams/openai.ts'
import { retryAfterMs, toClientError } from '../upstreams/upstream-error.ts'
import { newId } from './bytes.ts'
import { GatewayError } from './errors.ts'

const upstream = openai({ apiKey: 'sk-canary-12345678', baseURL: 'http://10.1.2.3:9000/v1' })

describe("an upstream's error on its way to the client", () => {
  it('has credentials and addresses removed from message and raw body', () => {
    const raw = { format: 'chat', value: { message: 'key sk-canary-12345678 at http://10.1.2.3:9000' } } as const
    const { info } = toClientError(
      { kind: 'invalid_request', status: 400, message: 'bad sk-canary-12345678 via 10.1.2.3:9000', raw },
      400,
      upstream,
    )
    expect(JSON.stringify(info)).not.toMatch(/canary|10\.1\.2\.3/)
    expect(info.message).toBe('bad *** via [upstream]')
  })

  it.each([401, 403])('with status %i is reported as an error of the gateway, not of the client’s key', (status) => {
    const { info } = toClientError(
      { kind: 'authentication', status, message: 'Incorrect API key provided: sk-canary-12345678' },
      status,
      upstream,
    )
    expect(info).toMatchObject({ kind: 'upstream_auth', status: 502 })
    expect(info.message).not.toContain('canary')
  })

  it('keeps the time to wait', () => {
    expect(
      toClientError({ kind: 'rate_limited', status: 429, message: 'slow' }, 429, upstream, { hints: { waitMs: 6500 } })
        .info.retryAfter,
    ).toBe(7)
  })

  it('has credentials removed from its parameter and code', () => {
    const expected = {
      kind: 'invalid_request',
      status: 400,
      message: 'no',
      param: 'sk-canary-12345678',
      code: 'sk-canary-12345678',
    } as const
    expect(toClientError(expected, 400, upstream).info).toMatchObject({ param: '***', code: '***' })
  })
})

describe('the wait time of an upstream', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  it.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0.2' }, 200],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }, 9000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after': '9', 'retry-after-ms': '120' }, 120],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '-3' }, undefined],
    [{ 'retry-after': '1e+300' }, undefined],
    [{ 'retry-after': '1e3' }, undefined],
    [{ 'retry-after': '0x10' }, undefined],
    [{ 'retry-after': 'Infinity' }, undefined],
    [{ 'retry-after': 'NaN' }, undefined],
    [{ 'retry-after': '+7' }, undefined],
    [{ 'retry-after': '9'.repeat(400) }, 86_400_000],
    [{ 'retry-after': '100000' }, 86_400_000],
    [{ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, 86_400_000],
    [{ 'retry-after-ms': '1e+300', 'retry-after': '7' }, 7000],
    [{ 'retry-after-ms': '999999999999' }, 86_400_000],
    [{}, undefined],
  ])('is parsed from %j', (headers, expected) => {
    expect(retryAfterMs({ header: (name) => headers[name] }, now)).toBe(expected)
  })
})

describe('losses', () => {
  it('are recorded once and serialized by severity, worst first', () => {
    const report = createReport()
    report.add({ path: '/a', kind: 'moved', severity: 'note', detail: 'x' })
    report.add({ path: '/seed', kind: 'unsupported', severity: 'warn', detail: 'y' })
    report.add({ path: '/seed', kind: 'unsupported', severity: 'warn', detail: 'y' })
    responseReport(report).add({ path: '/seed', kind: 'unsupported', severity: 'note', detail: 'y' })
    expect(lossHeader(report.losses)).toBe(
      '"/seed";kind=unsupported;severity=warn, "/a";kind=moved;severity=note, "/seed";kind=unsupported;severity=note;in=answer',
    )
  })

  it('fit into a header for any path, with the number of omitted losses', () => {
    const losses = Array.from(
      { length: 500 },
      (_, i) => ({ path: `/tools/${i}/ü"\\\n`, kind: 'unknown', severity: 'warn', detail: '' }) as const,
    )
    const header = lossHeader(losses) ?? ''
    expect(header.length).toBeLessThan(4096)
    expect(header).toMatch(/^[\x20-\x7e]+$/)
    const listed = header.split(', ').length - 1
    expect(header).toContain(`"...";more=${500 - listed}`)
    expect(lossHeader([])).toBeUndefined()
  })
})

it('creates unique ids of letters and digits', () => {
  const ids = new Set(Array.from({ length: 10_000 }, () => newId('req_')))
  expect(ids.size).toBe(10_000)
  for (const id of ids) expect(id).toMatch(/^req_[0-9A-Za-z]{22}$/)
})

it('rejects an unknown kind of error with the list of kinds', () => {
  expect(() => new GatewayError('rate_limit' as 'rate_limited', 'Too many calls.')).toThrow(
    /^Unknown error kind 'rate_limit'\. Use one of: .*rate_limited/,
  )
})

describe('instanceof GatewayError', () => {
  // A second copy of the module, such as the CommonJS build in addition to the ESM build.
  const copy = async (): Promise<typeof GatewayError> => {
    vi.resetModules()
    const { GatewayError: other } = await import('./errors.ts')
    expect(other).not.toBe(GatewayError)
    return other
  }

  it('is true for an error of another copy of the package, in both directions', async () => {
    const Other = await copy()
    expect(new Other('rate_limited', 'Too many calls.')).toBeInstanceOf(GatewayError)
    expect(new GatewayError('rate_limited', 'Too many calls.')).toBeInstanceOf(Other)
  })

  it('is false for an error of another version with a kind that this one does not know', async () => {
    const Other = await copy()
    const error = new Other('rate_limited', 'Too many calls.')
    Object.assign(error.info, { kind: 'of_next_year' })
    expect(error).not.toBeInstanceOf(GatewayError)
  })

  it('is false for other errors and values', () => {
    for (const value of [
      new Error('no'),
      { info: { kind: 'internal' } },
      null,
      undefined,
      'internal',
      Object.create(GatewayError.prototype),
    ])
      expect(value).not.toBeInstanceOf(GatewayError)
  })

  it('of a subclass is true for its own instances only', () => {
    class Refusal extends GatewayError {}
    expect(new Refusal('permission', 'No.')).toBeInstanceOf(GatewayError)
    expect(new Refusal('permission', 'No.')).toBeInstanceOf(Refusal)
    expect(new GatewayError('permission', 'No.')).not.toBeInstanceOf(Refusal)
  })
})
