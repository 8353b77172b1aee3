import type { GatewayError } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTokens } from './create-tokens.ts'
import { createMemoryMeters } from './storage/memory/meters.ts'
import { fakeStore } from './tokens/fake-store.test-support.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }

describe.each([
  ['ahead by 301 s', 301_000],
  ['back by an hour', -3_600_000],
])('a clock that is set %s', (_, stepMs) => {
  it('neither shortens nor extends the time a token stays cached while its store is unavailable', async () => {
    const store = fakeStore()
    const storage = { tokens: store, meters: createMemoryMeters(), close: async () => {} }
    const tokens = createTokens({ storage, staleMs: 60_000, logger: false })
    const { secret } = await tokens.issue()
    const authenticate = async (): Promise<unknown> => tokens.authenticate(secret, request)
    expect(await authenticate()).toMatchObject({ id: expect.any(String) })
    store.away = true
    vi.setSystemTime(Date.now() + stepMs)
    vi.advanceTimersByTime(59_999)
    expect(await authenticate()).toMatchObject({ id: expect.any(String) })
    vi.advanceTimersByTime(1)
    const refusal = (await authenticate().catch((error: unknown) => error)) as GatewayError
    expect(refusal.info.kind).toBe('unavailable')
    await tokens.close()
  })
})
