import { expect, it } from 'vitest'
import { createFakeProvider } from '../provider/provider.ts'
import { listen } from './listen.ts'
import { listenRealtime } from './realtime.ts'

it.each([
  ['a fake provider', () => listen(createFakeProvider())],
  ['a fake provider of realtime sessions', () => listenRealtime()],
])('stops %s when the block of `await using` ends', async (_, start) => {
  const url = await (async () => {
    await using listening = await start()
    expect((await fetch(listening.url)).status).toBeGreaterThan(0)
    return listening.url
  })()
  await expect(fetch(url)).rejects.toThrow()
})
