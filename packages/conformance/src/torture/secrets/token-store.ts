import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { base62, startRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, LocalGateway, Target } from '../check.ts'
import { holdsWithin, inParallel, ms, tally } from '../measurements.ts'
import { bearer, call, inFolder, withTokens } from './callers.ts'
import { createWatch } from './leaks.ts'

type Gateway = Target & { readonly local: LocalGateway }

const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Returns every file below a folder, as text. */
export const filesIn = (folder: string): { name: string; text: string }[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .map((name) => ({ name: name.slice(folder.length), text: readFileSync(name, 'latin1') }))

/** Requests the model list, which needs no upstream. */
const statusFor = async (target: Target, token: string): Promise<number> =>
  (await call(target, 'GET', '/v1/models', bearer.headers(token))).status

/** Searches the folder of issued, used, rejected and revoked tokens. */
async function searchFolder(
  gateway: Gateway,
  folder: string,
  count: number,
): Promise<{ found: string; complaints: string[] }> {
  const watch = createWatch()
  const digests: string[] = []
  for (let number = 0; number < count; number++) {
    const { id, secret } = await gateway.local.issue({
      name: `number ${number}`,
      owner: 'torture',
      metadata: { number },
    })
    watch.guard('a secret', secret)
    digests.push(digestOf(secret))
    await statusFor(gateway, secret)
    if (number % 4 === 0) await gateway.local.revoke(id)
  }
  await sleep(300)
  const files = filesIn(folder)
  const complaints = files.flatMap(({ name, text }) => watch.leaksIn(text).map((what) => `${what} in ${name}`))
  complaints.push(...watch.leaksIn(gateway.log()).map((what) => `${what} in the log`))
  const kept = digests.filter((digest) => files.some(({ text }) => text.includes(digest))).length
  if (kept !== count) complaints.push(`${kept} of ${count} SHA-256 digests were found: something else is stored`)
  return { found: `${files.length} files contain ${kept}/${count} SHA-256 digests and no secret`, complaints }
}

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const another = (char: string): string => letters[(letters.indexOf(char) + 7) % letters.length] ?? '0'
const withChecksum = (body: string): string => body + base62(BigInt(crc32(body)), 6)

/** Returns almost valid tokens: changed at the start, the end, and the digest. */
function mutationsOf({ id, secret }: { id: string; secret: string }, other: string): string[] {
  const body = secret.slice(0, -6)
  const changed = [...secret].map((char, at) => secret.slice(0, at) + another(char) + secret.slice(at + 1))
  // These are well-formed: only the store can reject them.
  const wellFormed = [...body]
    .slice(3)
    .map((char, at) => withChecksum(body.slice(0, at + 3) + another(char) + body.slice(at + 4)))
  return [
    ...changed,
    ...wellFormed,
    ...[1, 3, 10, 26, 51].flatMap((length) => [secret.slice(0, length), secret.slice(-length), secret.slice(length)]),
    withChecksum(secret.slice(0, 20) + other.slice(20, 46)),
    withChecksum(other.slice(0, 26) + secret.slice(26, 46)),
    `${secret}0`,
    `${secret}${secret}`,
    `${secret},${other}`,
    `${other.slice(0, 10)}${secret}`,
    secret.toUpperCase(),
    secret.toLowerCase(),
    secret.replace('mg-', 'MG-'),
    encodeURIComponent(secret).replace('-', '%2D'),
    digestOf(secret),
    `mg-${digestOf(secret)}`,
    id,
    '__proto__',
    'constructor',
    'undefined',
    'null',
    '*',
  ]
}

/** Sends each next to calls with the valid token, so that caches are warm. */
async function tryMutations(
  gateway: Gateway,
  { upstream }: CheckContext,
): Promise<{ tried: number; complaints: string[] }> {
  const good = await gateway.local.issue({ owner: 'torture' })
  const other = await gateway.local.issue({ owner: 'another owner' })
  const mutations = mutationsOf(good, other.secret).filter((token) => token !== good.secret && token !== other.secret)
  const before = upstream.requests
  const complaints: string[] = []
  await inParallel(mutations, 8, async (token, place) => {
    if (place % 10 === 0 && (await statusFor(gateway, good.secret)) !== 200)
      complaints.push('the valid token was rejected')
    const status = await statusFor(gateway, token)
    if (status !== 401)
      complaints.push(`'${token.slice(0, 8)}…' (${token.length} characters): returned status ${status}`)
  })
  if (upstream.requests !== before) complaints.push('an upstream was called')
  return { tried: mutations.length, complaints }
}

/** Returns when the last accepted call was sent, in milliseconds after the token was revoked; at least 0. */
async function watchRevocation(target: Target, secret: string, revoke: () => Promise<void>): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const knock = (): Promise<number> =>
    new Promise((resolve) => {
      const options = { agent, headers: bearer.headers(secret) }
      request(`${target.origin}/v1/models`, options, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
      })
        .on('error', () => resolve(0))
        .end()
    })
  let over = false
  let last = Number.NEGATIVE_INFINITY
  const hammer = async (): Promise<void> => {
    while (!over) {
      const sent = performance.now()
      if ((await knock()) === 200) last = Math.max(last, sent)
    }
  }
  const hammers = Array.from({ length: 4 }, hammer)
  await holdsWithin(() => last > 0, 5000)
  await sleep(50)
  await revoke()
  const revoked = performance.now()
  // Longer than promised, so that late effects are visible.
  await sleep(1500)
  over = true
  await Promise.all(hammers)
  agent.destroy()
  // A client that was never accepted proves nothing.
  return last === Number.NEGATIVE_INFINITY ? Number.NaN : Math.max(0, last - revoked)
}

async function revokeSome(gateway: Gateway, count: number): Promise<number> {
  const times = await inParallel(Array.from({ length: count }), 5, async () => {
    const { id, secret } = await gateway.local.issue({})
    return watchRevocation(gateway, secret, () => gateway.local.revoke(id))
  })
  return Math.max(...times)
}

/** The same with one process that revokes and another one that is called. Undefined without a Redis to share. */
async function revokeElsewhere(setting: CheckContext, count: number): Promise<number | undefined> {
  if (withoutRedisToKill !== undefined) return undefined
  const redis = await startRedis()
  try {
    const tokens = { redis: redis.url, prefix: 'torture:' }
    const here = await setting.fresh({ tokens })
    const there = await setting.fresh({ tokens })
    if (here === undefined || there === undefined) return undefined
    const times = await inParallel(Array.from({ length: count }), 5, async () => {
      const { id, secret } = await here.local.issue({})
      return watchRevocation(there, secret, () => here.local.revoke(id))
    })
    await Promise.all([here.stop(), there.stop()])
    return Math.max(...times)
  } finally {
    await redis.close()
  }
}

/**
 * Storage and lookup of tokens. Tests next to the code check that digests are compared by `timingSafeEqual`, and that
 * the cache key is the whole digest: packages/tokens/src/tokens/{secret,token-cache}.test.ts.
 */
export const tokenStore: Check = {
  row: 37,
  group: 'Auth and secrets',
  title: 'Token store',
  promise:
    'only SHA-256/HMAC at rest, full-token lookup, timingSafeEqual; auth cache keyed by full digest; revocation ≤ 1 s',
  run: (setting) =>
    inFolder(async (folder) => {
      const gateway = await withTokens(setting, folder)
      if (gateway === undefined) return { skipped: 'the token storage of other gateways is not visible from outside' }
      const { found, complaints } = await searchFolder(gateway, folder, setting.count(200, 20))
      const mutated = await tryMutations(gateway, setting)
      const revocations = setting.count(50, 5)
      const slowest = await revokeSome(gateway, revocations)
      const elsewhere = await revokeElsewhere(setting, revocations)
      complaints.push(...mutated.complaints)
      const slow: string[] = []
      for (const delay of [slowest, elsewhere ?? 0])
        if (Number.isNaN(delay)) complaints.push('a valid token was rejected')
        else if (delay > 1000) slow.push(`a revoked token was accepted ${ms(delay)} later`)
      const apart = elsewhere === undefined ? 'no Redis to share' : `within ${ms(elsewhere)} in another process`
      return {
        held: complaints.length === 0 && slow.length === 0,
        late: complaints.length === 0,
        figure: `${found}; ${mutated.tried} near misses of a token rejected; rejected within ${ms(slowest)} of being revoked, ${apart} (${revocations} tokens each, under load)`,
        notes: tally([...complaints, ...slow]),
      }
    }),
}
