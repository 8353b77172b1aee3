import { type FinishEvent, GatewayError, type GatewayNotice } from '@modelgate/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type AccessLogOptions, accessLog } from './access-log.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Returns a log and the lines that it wrote. */
function logged(options: AccessLogOptions = {}) {
  let text = ''
  let writes = 0
  const log = accessLog({
    write: (lines) => {
      text += lines
      writes++
    },
    ...options,
  })
  const lines = (): string[] => {
    log.flush()
    return text.split('\n').slice(0, -1)
  }
  return { log, lines, writes: () => writes, json: () => lines().map((line) => JSON.parse(line)) }
}

const call = (changes: Partial<FinishEvent> = {}): FinishEvent => ({
  requestId: 'req_1',
  identity: { id: 'tok_1', name: 'laptop' },
  operation: 'generate',
  format: 'chat',
  model: 'smart',
  upstream: 'openai',
  upstreamModel: 'gpt-5',
  upstreamFormat: 'chat',
  lane: 'wire',
  stream: true,
  status: 200,
  outcome: 'finished',
  usage: { input: { total: 120 }, output: { total: 45 } },
  cost: { amount: 0.0012, currency: 'USD' },
  losses: [],
  attempts: [{ upstream: 'openai', model: 'gpt-5', reason: 'first', startedMs: 1, status: 200, latencyMs: 300 }],
  startedAt: 0,
  durationMs: 1234.56,
  firstEventMs: 301.23,
  ...changes,
})

const unreachable = {
  upstream: 'openai',
  model: 'gpt-5',
  key: 1,
  reason: 'first',
  startedMs: 1,
  error: 'upstream_unreachable',
  cause: { code: 'ECONNREFUSED', address: '127.0.0.1:9000' },
} as const
const limited = {
  upstream: 'groq',
  model: 'llama',
  reason: 'fallback',
  startedMs: 2,
  status: 429,
  error: 'rate_limited',
} as const

describe('JSON', () => {
  it('writes one line for each call, in the format of pino', () => {
    const { log, json } = logged({ format: 'json' })
    log.onFinish(call())
    expect(json()).toEqual([
      {
        level: 30,
        time: expect.any(Number),
        msg: 'chat smart -> openai/gpt-5 200',
        requestId: 'req_1',
        identity: 'tok_1',
        token: 'laptop',
        operation: 'generate',
        format: 'chat',
        model: 'smart',
        upstream: 'openai',
        upstreamModel: 'gpt-5',
        stream: true,
        attempts: 1,
        status: 200,
        outcome: 'finished',
        durationMs: 1234.6,
        firstEventMs: 301.2,
        input: 120,
        output: 45,
        cost: 0.0012,
        currency: 'USD',
        losses: 0,
      },
    ])
  })

  it('names the cause of each failed attempt', () => {
    const { log, json } = logged({ format: 'json' })
    log.onFinish(call({ attempts: [unreachable, unreachable, limited, ...call().attempts] }))
    expect(json()).toMatchObject([
      {
        level: 40,
        msg: 'chat smart -> openai/gpt-5 200: after openai/gpt-5 key 1: connection failed (ECONNREFUSED 127.0.0.1:9000) 2 times; groq/llama: rate limit (429)',
        attempts: 4,
        failures: [
          {
            upstream: 'openai',
            key: 1,
            error: 'upstream_unreachable',
            code: 'ECONNREFUSED',
            address: '127.0.0.1:9000',
          },
          {
            upstream: 'openai',
            key: 1,
            error: 'upstream_unreachable',
            code: 'ECONNREFUSED',
            address: '127.0.0.1:9000',
          },
          { upstream: 'groq', status: 429, error: 'rate_limited' },
        ],
      },
    ])
  })

  it('counts losses and names the first fields', () => {
    const { log, json } = logged({ format: 'json' })
    const losses = Array.from({ length: 7 }, (_, at) => ({
      path: `/f${at}`,
      kind: 'unsupported' as const,
      severity: 'warn' as const,
      detail: 'CONTENT',
    }))
    log.onFinish(call({ losses }))
    const [line] = json()
    expect(line).toMatchObject({ losses: 7, lossFields: ['/f0', '/f1', '/f2', '/f3', '/f4'] })
    expect(JSON.stringify(line)).not.toContain('CONTENT')
  })

  it('logs messages of its logger with their error', () => {
    const { log, json } = logged({ format: 'json', level: 'debug' })
    const error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    log.logger.debug('one')
    log.logger.info('two', { event: 'x' })
    log.logger.warn('modelgate: three', error)
    log.logger.error('four', error)
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    log.logger.info('five', cycle)
    expect(json()).toMatchObject([
      { level: 20, msg: 'one' },
      { level: 30, msg: 'two', event: 'x' },
      { level: 40, msg: 'three', err: { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' } },
      { level: 50, msg: 'four', err: { stack: expect.stringContaining('access-log.test.ts') } },
      { level: 30, msg: 'five' },
    ])
  })
})

describe('pretty', () => {
  it('writes aligned columns', () => {
    const { log, lines } = logged({ format: 'pretty' })
    log.onFinish(call({ model: 'a-long-model-name' }))
    log.onFinish(call({ stream: false, durationMs: 31.4, status: 201 }))
    expect(lines().map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))).toEqual([
      'info  chat       a-long-model-name -> openai/gpt-5  200   1.2 s (first 301 ms)  in 120 out 45  $0.0012  token laptop  req_1',
      'info  chat       smart -> openai/gpt-5              201   31 ms  in 120 out 45  $0.0012  token laptop  req_1',
    ])
  })

  it('uses colours on request, except with NO_COLOR', () => {
    vi.stubEnv('NO_COLOR', '')
    vi.stubEnv('FORCE_COLOR', '')
    const colored = logged({ format: 'pretty', colors: true })
    colored.log.onFinish(call())
    expect(colored.lines()[0]).toContain('\u001b[32m200\u001b[0m')
    vi.stubEnv('NO_COLOR', '1')
    const plain = logged({ format: 'pretty', colors: true })
    plain.log.onFinish(call())
    expect(plain.lines()[0]).not.toContain('\u001b')
    vi.stubEnv('NO_COLOR', '')
    vi.stubEnv('FORCE_COLOR', '1')
    const forced = logged({ format: 'pretty' })
    forced.log.onFinish(call())
    expect(forced.lines()[0]).toContain('\u001b')
  })
})

describe('levels', () => {
  const failed = (kind: ConstructorParameters<typeof GatewayError>[0], status: number): Partial<FinishEvent> => ({
    status,
    outcome: 'failed',
    attempts: [],
    error: new GatewayError(kind, 'Reason.'),
  })
  it.each<[string, Partial<FinishEvent>, number]>([
    ['success', {}, 30],
    ['a failed attempt before the successful one', { attempts: [unreachable, ...call().attempts] }, 40],
    ['a slower attempt of a hedged call', { attempts: [{ ...limited, error: 'cancelled' }, ...call().attempts] }, 30],
    ['a client error', failed('invalid_request', 400), 40],
    ['an exceeded limit', failed('rate_limited', 429), 40],
    ['an upstream failure', failed('upstream_error', 502), 50],
    ['an interrupted stream', { ...failed('upstream_truncated', 502), status: 200 }, 50],
    ['an internal error', { ...failed('internal', 500), error: new Error('x') }, 50],
    ['a disconnected client', { ...failed('cancelled', 499), outcome: 'aborted' }, 30],
    ['a disconnected client of a stream', { outcome: 'aborted', error: new GatewayError('cancelled', 'x') }, 30],
  ])('%s', (_, changes, level) => {
    const { log, json } = logged({ format: 'json' })
    log.onFinish(call(changes))
    expect(json()).toMatchObject([{ level }])
  })

  it('omits lines below the level, which can change', () => {
    const { log, json } = logged({ format: 'json', level: 'warn' })
    log.onFinish(call())
    log.logger.info('no')
    log.onNotice({ kind: 'circuit-closed', upstream: 'a', model: 'b' })
    log.configure({ level: 'info' })
    log.logger.info('yes')
    log.configure({ level: 'silent' })
    log.logger.error('no')
    expect(json().map(({ msg }) => msg)).toEqual(['yes'])
  })

  it('rejects an unknown level or format', () => {
    expect(() => accessLog({ level: 'loud' as 'info' })).toThrow("level is 'loud'; use one of: debug")
    expect(() => accessLog({ format: 'xml' as 'json' })).toThrow("format is 'xml'; use 'pretty' or 'json'")
  })
})

describe('notices', () => {
  it.each<[GatewayNotice, number, string]>([
    [
      { kind: 'circuit-opened', upstream: 'a', model: 'b', forMs: 5000 },
      40,
      'a/b opened: it receives no calls for 5.0 s',
    ],
    [{ kind: 'circuit-half-open', upstream: 'a', model: 'b' }, 20, 'a/b is half-open'],
    [{ kind: 'circuit-closed', upstream: 'a', model: 'b' }, 30, 'a/b closed'],
    [
      { kind: 'cooldown-started', upstream: 'a', key: 1, forMs: 20, error: 'rate_limited' },
      20,
      'Cooldown of a key 1 for 20 ms: rate limit',
    ],
    [{ kind: 'reconfigured', upstreams: ['a', 'b'] }, 30, 'Configuration reloaded. Upstreams: a, b'],
    [{ kind: 'drain-started', activeCalls: 1 }, 30, 'draining 1 in-flight request'],
  ])('$kind is one line', (notice, level, words) => {
    for (const format of ['json', 'pretty'] as const) {
      const { log, lines } = logged({ format, level: 'debug' })
      log.onNotice(notice)
      expect(lines()).toEqual([expect.stringContaining(words)])
      if (format === 'json') expect(JSON.parse(lines()[0] as string)).toMatchObject({ level, event: notice.kind })
    }
  })

  const rejected: GatewayNotice = {
    kind: 'call-rejected',
    requestId: 'req_2',
    identity: null,
    method: 'POST',
    path: '/v1/chat/completions',
    status: 401,
    error: 'authentication',
    message: 'Missing API key.',
    durationMs: 0.42,
  }

  it('logs a rejected call with its reason', () => {
    const { log, json } = logged({ format: 'json' })
    log.onNotice(rejected)
    expect(json()).toMatchObject([
      {
        level: 40,
        msg: 'POST /v1/chat/completions 401: authentication: Missing API key.',
        requestId: 'req_2',
        path: '/v1/chat/completions',
        status: 401,
        error: 'authentication',
        durationMs: 0.4,
      },
    ])
  })

  it('omits values of the request that a message quotes, but keeps names of fields', () => {
    const { log, lines } = logged({ format: 'pretty' })
    for (const message of [
      "Invalid value: 'CANARY'. Supported values are: 'a'.",
      `Invalid value at 'page_size' (TYPE_INT32), "CANARY"`,
      "Missing required parameter: 'messages'.",
    ])
      log.onNotice({ ...rejected, status: 400, error: 'invalid_request', message })
    expect(lines().join('\n')).not.toContain('CANARY')
    expect(lines()[1]).toContain("'page_size'")
    expect(lines()[2]).toContain("Missing required parameter: 'messages'.")
  })
})

describe('text of clients', () => {
  const attack = 'gpt\n{"level":50}\r\u001b[2Jx\u2028y\u202ez\u0000'

  it.each(['json', 'pretty'] as const)('cannot begin a line or send control characters: %s', (format) => {
    const { log, lines } = logged({ format })
    log.onFinish(call({ model: attack, identity: { id: attack, name: attack }, upstreamModel: attack }))
    log.onNotice({
      kind: 'call-rejected',
      requestId: 'r',
      identity: { id: attack, name: attack },
      method: 'GET',
      path: `/${attack}`,
      status: 404,
      error: 'not_found',
      message: attack,
      durationMs: 1,
    })
    log.logger.warn(attack, new Error(attack))
    expect(lines()).toHaveLength(3)
    for (const line of lines()) {
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u)
      if (format === 'json') JSON.parse(line)
    }
  })

  it('is cut after 200 characters', () => {
    const { log, lines } = logged({ format: 'json' })
    log.onFinish(call({ model: 'm'.repeat(100_000) }))
    expect(lines()[0]?.length).toBeLessThan(1200)
  })
})

describe('writing', () => {
  it('writes the lines of one turn of the event loop together', async () => {
    const { log, writes } = logged({ format: 'json' })
    const listeners = process.listenerCount('exit')
    for (let count = 0; count < 5; count++) log.onFinish(call())
    expect([writes(), process.listenerCount('exit')]).toEqual([0, listeners + 1])
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect([writes(), process.listenerCount('exit')]).toEqual([1, listeners])
  })

  it('continues after its writer threw', () => {
    const written: string[] = []
    let failing = true
    const log = accessLog({
      format: 'json',
      write: (lines) => {
        if (failing) throw new Error('disk full')
        written.push(lines)
      },
    })
    log.logger.info('lost')
    log.flush()
    failing = false
    log.logger.info('kept')
    log.flush()
    expect(written).toEqual([expect.stringContaining('kept')])
  })
})
