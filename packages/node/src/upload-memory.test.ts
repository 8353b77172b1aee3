import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createGateway, openai } from '@modelgate/core'
import { expect, it, onTestFinished } from 'vitest'
import { nodeListener } from './server/handler.ts'
import { serve } from './testing/server.ts'

const peer = fileURLToPath(new URL('testing/upload-peer.mjs', import.meta.url))

function start(...args: string[]): { child: ChildProcess; reported: Promise<unknown> } {
  // Without the flags and conditions of the test runner.
  const child = fork(peer, args, { execArgv: [] })
  onTestFinished(() => void child.kill())
  const reported = new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`upload-peer ended with code ${code}`)))
  })
  return { child, reported }
}

const sent = async (url: string, megabytes: number) =>
  (await start('client', url, String(megabytes)).reported) as { status: number; text: string; sha256: string }

/** Every test file has its own process, so its memory is the gateway's. */
it('uploads 100 MB unchanged with less than 50 MB of memory', {
  timeout: 60_000,
}, async () => {
  const upstream = String(await start('upstream').reported)
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openai({ baseURL: `${upstream}/v1` }) },
    models: { alias: { upstream: 'up', model: 'whisper-1' } },
    logger: false,
  })
  const { url } = await serve(nodeListener(gateway))
  // The first upload allocates code, pools and buffers.
  await sent(url, 8)
  const before = process.memoryUsage().rss
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 5)
  const { status, text, sha256 } = await sent(url, 100)
  clearInterval(watch)
  const arrived = JSON.parse(text) as { text: string; head: string; rest: string; length: string | null }
  expect([status, arrived.text]).toEqual([200, sha256])
  expect(arrived.head).toContain('name="file"; filename="big.wav"')
  expect(arrived.rest).toContain('name="model"\r\n\r\nwhisper-1\r\n')
  expect(Number(arrived.length)).toBeGreaterThan(100 * 1024 * 1024)
  expect((most - before) / 1024 / 1024).toBeLessThan(50)
})
