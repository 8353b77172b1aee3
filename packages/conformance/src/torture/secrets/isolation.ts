import { listenRealtime } from '@modelgate/testing'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sendJson, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, LocalGateway, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { inParallel, ms, tally } from '../measurements.ts'
import { asTenant, inFolder } from './callers.ts'
import { tryHeaders } from './header-lists.ts'
import { mostRaiseByHugeMs, mostRaiseMs, tryHostile, worstOf } from './hostile.ts'
import { countOwners, tryOthersResponses } from './separation.ts'
import { crossSessions } from './sessions.ts'

const ids = /talk-\d+-of-\w+/g

/** Sends the caller's id back with a delay, word by word, so that all responses are in flight at once. */
async function answerById(received: UpstreamCall): Promise<void> {
  const format = formatOf(received)
  const [id = 'nobody'] = received.body.toString('latin1').match(ids) ?? []
  const named = (text: string): string => text.replaceAll(/\bone\b/g, id)
  await sleep(Math.random() * 200)
  if (!received.stream) return sendJson(received, 200, named(JSON.stringify(wholeResponse[format])))
  beginStream(received)
  for (const event of good[format]) {
    received.response.write(named(event))
    await sleep(Math.random() * 40)
  }
  received.response.end()
}

/** Sends many concurrent calls of both tenants in turn: each must receive its own id, and no other. */
async function crossTalk({ upstream }: CheckContext, tenants: readonly Target[], count: number): Promise<string[]> {
  const complaints: string[] = []
  const scene = upstream.play(answerById)
  const requestIds = new Set<string>()
  const jobs = Array.from({ length: count }, (_, number) => number)
  await inParallel(jobs, count, async (number) => {
    const tenant = tenants[number % tenants.length] as Target
    const pair = tenant.pairs[Math.floor(number / 2) % tenant.pairs.length]
    if (pair === undefined) return
    const id = `talk-${number}-of-tenant${number % tenants.length}`
    const text = `${scene.marker} ${id}`
    const answer = await exchange(tenant, { ...pair, text, stream: number % 3 === 0 }, { withinMs: 60_000 })
    if (answer.status !== 200)
      return void complaints.push(`${pair.client} to ${pair.upstream}: status ${answer.status}`)
    const received = new Set(answer.text.match(ids))
    if (!received.has(id)) complaints.push(`${pair.client} to ${pair.upstream}: its own response is missing`)
    received.delete(id)
    if (received.size > 0) complaints.push(`${pair.client} to ${pair.upstream}: received ${[...received][0]}`)
    const own = answer.headers['x-request-id']
    if (typeof own === 'string') {
      if (requestIds.has(own)) complaints.push('two calls have the same request id')
      requestIds.add(own)
    }
  })
  if (scene.calls.length !== count) complaints.push(`${scene.calls.length} upstream calls for ${count}`)
  for (const { body } of scene.calls)
    if (new Set(body.toString('latin1').match(ids)).size !== 1)
      complaints.push('an upstream call contained more than one id')
  scene.end()
  return complaints
}

/** Sends the same prompt of two tenants, twice each: responses must not be shared. */
async function samePrompt(
  { upstream }: CheckContext,
  tenants: readonly Target[],
): Promise<{ calls: number; due: number }> {
  let calls = 0
  let due = 0
  for (const pair of tenants[0]?.pairs ?? []) {
    const scene = upstream.play(answerById)
    for (let round = 0; round < 2; round++)
      for (const tenant of tenants) {
        await exchange(tenant, {
          ...pair,
          text: scene.marker,
          more: pair.client === 'chat' ? { temperature: 0, seed: 1 } : {},
        })
        due++
      }
    calls += scene.calls.length
    scene.end()
  }
  return { calls, due }
}

interface Tenants {
  readonly all: readonly Target[]
  readonly secrets: readonly string[]
  readonly local: LocalGateway | undefined
}

async function startTenants(setting: CheckContext, folder: string, liveOrigin: string): Promise<Tenants> {
  const fresh = await setting.fresh({
    tokens: { folder },
    upstreams: { live: { format: 'chat', baseURL: liveOrigin } },
    models: { live: 'live' },
  })
  // For a gateway of others there is only one token, hence one tenant.
  if (fresh === undefined) return { all: [setting.target, setting.target], secrets: [], local: undefined }
  const issued = [await fresh.local.issue({ owner: 'one' }), await fresh.local.issue({ owner: 'two' })]
  const secrets = issued.map(({ secret }) => secret)
  return { all: secrets.map((secret) => asTenant(fresh, secret)), secrets, local: fresh.local }
}

/** Checks that need a gateway with several tenants. */
async function askOwn(
  setting: CheckContext,
  { all, secrets, local: own }: Tenants,
  fake: Awaited<ReturnType<typeof listenRealtime>>,
) {
  const [mine] = all
  if (own === undefined || mine === undefined) return { summary: 'one tenant only', complaints: [] }
  const stored = await tryOthersResponses(setting, mine, secrets[1] ?? '')
  const live = await crossSessions(mine, fake, 'live', secrets, setting.count(50, 10))
  return {
    summary: `${stored.total} attempts to use another tenant's stored responses rejected, ${live.sessions} realtime sessions separate`,
    complaints: [...stored.complaints, ...live.complaints],
  }
}

/** Callers share nothing, and none can harm the others. */
export const isolation: Check = {
  row: 39,
  group: 'Isolation',
  title: '1,000 concurrent ids, caches on, 2 tenants',
  promise:
    '0 cross-talk; 2 tenants same prompt ⇒ 2 upstream calls; headers allow-listed both ways; one hostile client cannot raise others’ p99 by > 50 ms',
  run: (setting) =>
    inFolder(async (folder) => {
      const fake = await listenRealtime({ mute: true })
      try {
        const tenants = await startTenants(setting, folder, fake.url.replace(/\/v1$/, ''))
        const { all, local: own } = tenants
        await own?.finished()
        const count = setting.count(1000, 200)
        const crossed = await crossTalk(setting, all, count)
        const complaints = [...crossed]
        if (own !== undefined)
          for (const [owner, calls] of await countOwners(own))
            if (calls !== count / 2)
              complaints.push(`${owner} was recorded as the caller of ${calls} calls of ${count / 2}`)
        const same = await samePrompt(setting, all)
        if (same.calls !== same.due) complaints.push(`${same.calls} upstream calls for ${same.due} with one prompt`)
        const headers = await tryHeaders(setting, all[0] ?? setting.target)
        const ownResult = await askOwn(setting, tenants, fake)
        complaints.push(...headers.complaints, ...ownResult.complaints)
        const harms = await tryHostile(setting, all[0] ?? setting.target, all[1] ?? setting.target)
        const slow: string[] = []
        for (const { way, raise, failed } of harms) {
          if (raise > mostRaiseMs && !(way === 'huge bodies' && raise <= mostRaiseByHugeMs))
            slow.push(`${way}: others’ p99 rose by ${ms(raise)}`)
          if (failed > 0) complaints.push(`${way}: ${failed} calls of others failed`)
        }
        const byHuge = harms.find(({ way }) => way === 'huge bodies')?.raise ?? 0
        const passed = [...headers.onward].map((name) => name.replace(/^\w+ /, '')).sort()
        return {
          held: complaints.length === 0 && slow.length === 0,
          late: complaints.length === 0,
          figure:
            `${crossed.length} of ${count} concurrent calls crossed; ${same.calls} upstream calls for ${same.due} times the same prompt; of ${headers.sent} headers passed on:` +
            `${[...new Set(passed)].join(', ') || 'none'}, passed back: ${[...headers.back].join(', ') || 'none'}; ${ownResult.summary}; p99 of others raised by ${worstOf(harms)}`,
          notes: tally([...complaints, ...slow]),
          ...(byHuge <= mostRaiseMs || byHuge > mostRaiseByHugeMs
            ? {}
            : {
                limit: `while four connections send bodies of 31 MB without a pause, others' p99 rises by ${ms(byHuge)}: one thread receives and checks the bytes for all, piece by piece (limits.bodyBytes bounds them, more processes share them)`,
              }),
        }
      } finally {
        await fake.close()
      }
    }),
}
