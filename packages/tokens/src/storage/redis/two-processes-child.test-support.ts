import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { type Admission, GatewayError, type Identity } from '@modelgate/core'
import { createClient } from 'redis'
import { createTokens } from '../../create-tokens.ts'
import { callOf, endOf, took } from '../../limits/call.test-support.ts'
import { redisStorage } from './redis-storage.ts'

/* A process whose callers use the tokens of one owner until its budget is used up. */

export interface ProcessReport {
  readonly admitted: number
  /** Thresholds that were reported in this process. */
  readonly thresholds: readonly number[]
}

export interface ProcessSettings {
  readonly url: string
  readonly prefix: string
  readonly secrets: readonly string[]
  readonly callers: number
  /** Tokens that a call reserves; it uses half of them. */
  readonly reserved: number
  /** A long one keeps a busy machine from failing a test. */
  readonly timeoutMs: number
  /** File with a letter for each admitted call. It is written before the call ends, so a killed process leaves it behind. */
  readonly log: string
  readonly leases?: boolean
}

/** A caller gives up when the budget has rejected it this often in a row, after growing pauses: others may return what they reserved. */
const patience = 6
const firstPauseMs = 20

await work(JSON.parse(process.argv[2] ?? '{}') as ProcessSettings)

async function work({
  url,
  prefix,
  secrets,
  callers,
  reserved,
  timeoutMs,
  log,
  leases = false,
}: ProcessSettings): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: 50 } })
  client.on('error', () => {})
  await client.connect()
  const thresholds: number[] = []
  const tokens = createTokens({
    storage: redisStorage({ client, prefix, timeoutMs, leases, logger: false }),
    // The settings of the owner are known while Redis is away.
    staleMs: 60_000,
    logger: false,
    onThreshold: ({ fraction }) => void thresholds.push(fraction),
  })
  tokens.plugin.onStart?.({} as never)
  const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }
  const identities = await Promise.all(secrets.map((secret) => tokens.authenticate(secret, request)))
  let admitted = 0
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
  const caller = async (identity: Identity | null | undefined, name: string): Promise<void> => {
    let rejections = 0
    for (let n = 0; rejections < patience; n++) {
      const id = `${process.pid}-${name}-${n}`
      try {
        const more = { identity: identity ?? null, input: reserved, output: 0 }
        const admission = (await tokens.plugin.admit?.(callOf(id, more))) as Admission
        rejections = 0
        admitted++
        appendFileSync(log, 'a')
        await pause(5 * Math.random())
        admission.settle?.(endOf(id, { ...took(reserved / 2, 0), identity: identity ?? null }))
      } catch (error) {
        const isUsedUp = error instanceof GatewayError && error.info.kind === 'quota_exceeded'
        if (isUsedUp) rejections++
        await pause(firstPauseMs * 2 ** rejections)
      }
    }
  }
  process.stdout.write('ready\n')
  // Both processes begin at the same time.
  await once(process.stdin, 'data')
  await Promise.all(Array.from({ length: callers }, (_, n) => caller(identities[n % identities.length], String(n))))
  await tokens.close()
  await client.close()
  process.stdout.write(JSON.stringify({ admitted, thresholds } satisfies ProcessReport))
  process.exit(0)
}
