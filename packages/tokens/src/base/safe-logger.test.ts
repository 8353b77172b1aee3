import { describe, expect, it, vi } from 'vitest'
import { safeLogger } from './safe-logger.ts'

describe('a logger', () => {
  it('does not let failures of the host’s logger reach the caller', () => {
    const full = vi.fn((): void => {
      throw new Error('the log is full')
    })
    const logger = safeLogger({ warn: full, error: full })
    logger.warn('one')
    logger.error('two', 2)
    expect(full.mock.calls).toEqual([['one'], ['two', 2]])
  })
  it('calls the host’s logger as a method, and accepts one with a single method', () => {
    const host = {
      heard: [] as string[],
      warn(message: string) {
        this.heard.push(message)
      },
    }
    const logger = safeLogger(host)
    logger.warn('one')
    logger.error('two')
    expect(host.heard).toEqual(['one'])
  })
  it('is the console by default, or disabled', () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    safeLogger(false).warn('one')
    safeLogger(undefined).warn('two')
    expect(warn.mock.calls).toEqual([['two']])
    warn.mockRestore()
  })
})
