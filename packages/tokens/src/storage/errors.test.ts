import { expect, it, vi } from 'vitest'
import { createTokens } from '../create-tokens.ts'
import { fakeStore } from '../tokens/fake-store.test-support.ts'
import { memoryStorage } from './memory/memory-storage.ts'

it('logs once why calls are rejected while the store is unreachable', async () => {
  const store = fakeStore()
  const error = vi.fn()
  const tokens = createTokens({
    storage: { ...memoryStorage(), tokens: store },
    cacheMs: 0,
    logger: { warn: vi.fn(), error },
  })
  const { secret } = await tokens.issue()
  store.away = true
  store.later = true
  const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined } as const
  for (let n = 0; n < 100; n++)
    await expect(Promise.resolve().then(() => tokens.authenticate(secret, request))).rejects.toThrow(
      'Tokens cannot be checked at the moment. Try again shortly.',
    )
  expect(error.mock.calls).toEqual([['modelgate: calls are rejected with 503, because tokens cannot be checked: gone']])
  await tokens.close()
})
