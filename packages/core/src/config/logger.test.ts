import { describe, expect, it, vi } from 'vitest'
import { toLogger } from './logger.ts'

describe('a logger', () => {
  it('does not let failures of the host’s logger reach the caller', async () => {
    const full = vi.fn((): void => {
      throw new Error('the log is full')
    })
    const logger = toLogger({ warn: full, error: full })
    logger.warn('one')
    logger.error('two', 2)
    expect(full.mock.calls).toEqual([['one'], ['two', 2]])
    toLogger({ warn: (async () => Promise.reject(new Error('the log is full'))) as () => void }).warn('one')
  })
  it('calls the host’s logger as a method, and accepts one with a single method', () => {
    const host = {
      heard: [] as string[],
      warn(message: string) {
        this.heard.push(message)
      },
    }
    const logger = toLogger(host)
    logger.warn('one')
    logger.error('two')
    expect(host.heard).toEqual(['one'])
  })
  it('is the console by default, or disabled', () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    toLogger(false).warn('one')
    toLogger(undefined).warn('two')
    expect(warn.mock.calls).toEqual([['two']])
    warn.mockRestore()
  })
})

const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', socket: { secret: true } })
const error = new TypeError('fetch failed', { cause })

/** Returns the calls of a logger with some members for three messages: one alone, one with an error, one with other details. */
function callsOf(members: object): readonly (readonly unknown[])[] {
  const calls: unknown[][] = []
  const write = (...all: unknown[]) => void calls.push(all)
  const logger = toLogger({ ...members, warn: write, error: write })
  logger.warn('50%s alone')
  logger.error('50%s failed', error)
  logger.warn('50%s more', { kind: 'x' })
  return calls
}

describe('the form of errors', () => {
  it('is a second argument for the console and functions of the host', () => {
    expect(callsOf({})).toEqual([['50%s alone'], ['50%s failed', error], ['50%s more', { kind: 'x' }]])
  })
  it('is the first argument for pino, which drops arguments after a message', () => {
    const pino = { bindings: () => ({}), child: () => ({}), levels: { values: { warn: 40, error: 50 } } }
    expect(callsOf(pino)).toEqual([['50%s alone'], [error, '50%s failed'], [{ details: { kind: 'x' } }, '50%s more']])
  })
  it.each([
    ['a logger of winston', { transports: [], configure: () => {}, isLevelEnabled: () => true }],
    ['the module winston', { transports: { Console: class {} }, configure: () => {} }],
  ])('is one object for %s, with members that JSON shows', (_, winston) => {
    const [alone, failed, more] = callsOf(winston)
    expect(alone).toEqual([{ message: '50%s alone' }])
    expect(more).toEqual([{ message: '50%s more', details: { kind: 'x' } }])
    expect(failed).toHaveLength(1)
    expect(JSON.parse(JSON.stringify(failed?.[0]))).toEqual({
      message: '50%s failed: fetch failed',
      error: {
        name: 'TypeError',
        message: 'fetch failed',
        stack: error.stack,
        cause: { name: 'Error', message: 'refused', code: 'ECONNREFUSED', stack: cause.stack },
      },
    })
  })
  it('shows the errors of an AggregateError, and ends at an error that is its own cause', () => {
    const several = new AggregateError([new Error('one')], 'several')
    const circular = Object.assign(new Error('again'), { errors: undefined })
    Object.assign(circular, { cause: circular })
    const lines: unknown[] = []
    const logger = toLogger({
      ...{ transports: [], configure: () => {} },
      error: (line) => void lines.push(JSON.stringify(line)),
    })
    logger.error('x', several)
    logger.error('x', circular)
    expect(lines[0]).toContain('"errors":[{')
    expect(lines[1]).toContain('again')
  })
})
