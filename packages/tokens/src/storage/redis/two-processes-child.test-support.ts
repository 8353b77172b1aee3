import type { Admission, Identity } from '@modelgate/core'
import { createClient } from 'redis'
import { createTokens } from '../../create-tokens.ts'
import { callOf, endOf, took } from '../../limits/call.test-support.ts'
import { redisStorage } from './redis-storage.ts'

/* A process whose callers use the tokens of one owner until its budget is used up, or each has made its calls. */

export interface ProcessReport {
  readonly admitted: number
  readonly refused: number
  /** Thresholds that were reported in this process. */
  readonly thresholds: readonly number[]
}

const [url, prefix, secrets = '', callers, callsOfEach, reserved] = process.argv.slice(2)
await work()

async function work(): Promise<void> {
  const client = createClient({ url: String(url) })
  await client.connect()
  const thresholds: number[] = []
  const tokens = createTokens({
    // A long timeout keeps a busy machine from failing the test.
    storage: redisStorage({ client, prefix: String(prefix), timeoutMs: 20_000 }),
    onThreshold: ({ fraction }) => void thresholds.push(fraction),
  })
  tokens.plugin.onStart?.({} as never)
  const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }
  let [admitted, refused] = [0, 0]
  /** Waits for the settlement too, so that the last calls find the room that others have returned. */
  const call = async (identity: Identity | null, id: string): Promise<void> => {
    try {
      const more = { identity, input: Number(reserved), output: 0 }
      const admission = (await tokens.plugin.admit?.(callOf(id, more))) as Admission
      admitted++
      await new Promise((resolve) => setTimeout(resolve, 5 * Math.random()))
      admission.settle?.(endOf(id, { ...took(Number(reserved) / 2, 0), identity }))
    } catch {
      refused++
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const caller = async (secret: string, name: string): Promise<void> => {
    const identity = await tokens.authenticate(secret, request)
    for (let n = 0; n < Number(callsOfEach); n++) await call(identity as Identity, `${process.pid}-${name}-${n}`)
  }
  const all = secrets.split(' ')
  await Promise.all(Array.from({ length: Number(callers) }, (_, n) => caller(all[n % all.length] ?? '', String(n))))
  await tokens.close()
  await client.close()
  process.stdout.write(JSON.stringify({ admitted, refused, thresholds } satisfies ProcessReport))
}
