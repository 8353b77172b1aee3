// A gateway of our own in a process of its own: `own.ts` starts it with a server's name, the upstream's origin and a profile,
// and asks it things by messages.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cohere, createGateway, type Gateway, type GatewayConfig, GatewayError, type Plugin } from '@modelgate/core'
import { drain } from '@modelgate/node/adapter'
import { otel } from '@modelgate/otel'
import { createRecorder } from '@modelgate/otel/test-support'
import { createTokens, fileLedger, folderStorage, redisStorage, type Tokens } from '@modelgate/tokens'
import { createClient } from 'redis'
import { forgetful, upstreamKey, upstreamOf } from '../base/gateways.ts'
import { formats } from '../base/recorded-traffic.ts'
import { callers, type Finished, type Profile, type Stats } from './check.ts'
import { hosts } from './hosts.ts'

const [serverName = 'node', upstreamOrigin = '', profileText = '{}'] = process.argv.slice(2)
const profile = JSON.parse(profileText) as Profile
const stepClock = profile.steppable === true ? installSteppedClock() : undefined

let unhandledRejections = 0
process.on('unhandledRejection', (reason) => {
  unhandledRejections++
  console.error('unhandled rejection:', reason)
})

const total = (count: number | { total: number } | undefined): number =>
  typeof count === 'object' ? count.total : (count ?? 0)

let finished: Finished[] = []
const witness: Plugin = {
  name: 'witness',
  onFinish(event) {
    finished.push({
      requestId: event.requestId,
      outcome: event.outcome,
      error: event.error instanceof GatewayError ? (event.error.info.code ?? event.error.info.kind) : undefined,
      status: event.status,
      identity: event.identity?.id ?? null,
      model: event.model,
      attempts: event.attempts.length,
      inputTokens: total(event.usage?.input),
      outputTokens: total(event.usage?.output),
    })
  },
}

async function openTokens(where: NonNullable<Profile['tokens']>): Promise<Tokens> {
  if ('folder' in where)
    return createTokens({
      storage: folderStorage(where.folder),
      ledger: fileLedger({ folder: join(where.folder, 'ledger') }),
    })
  const client = createClient({ url: where.redis })
  // A Redis that goes away is what some checks are about.
  client.on('error', () => {})
  await client.connect()
  const { prefix, localMs, staleMs } = where
  return createTokens({
    storage: redisStorage({ client, prefix, ...(localMs === undefined ? {} : { away: { localMs } }) }),
    ...(staleMs === undefined ? {} : { staleMs }),
  })
}

/** Exporter of the OpenTelemetry plugin. */
const traces = profile.traces === true ? createRecorder() : undefined

const tokens = profile.tokens === undefined ? undefined : await openTokens(profile.tokens)

const fixed: GatewayConfig['auth'] = (credential) =>
  credential === callers.alice
    ? { id: 'alice' }
    : credential === callers.narrow
      ? { id: 'bob', models: ['chat-model'] }
      : null

function configOf({
  defaults,
  upstreams = {},
  models = {},
  tokens: _,
  traces: __,
  fetch: fetchName,
  steppable: ___,
  ...rest
}: Profile): GatewayConfig<string> {
  return {
    ...(defaults === true ? {} : { retry: false, breaker: false, health: forgetful }),
    ...(fetchName === 'global' ? { fetch: globalThis.fetch } : {}),
    auth: tokens?.authenticate ?? fixed,
    upstreams: {
      ...Object.fromEntries(formats.map((format) => [format, upstreamOf(format, upstreamOrigin)])),
      ...Object.fromEntries(
        Object.entries(upstreams).map(([name, { format, baseURL, apiKey = upstreamKey }]) => [
          name,
          format === 'cohere' ? cohere({ baseURL, apiKey }) : upstreamOf(format, baseURL, apiKey),
        ]),
      ),
    },
    models: { ...Object.fromEntries(formats.map((format) => [`${format}-model`, format])), ...models },
    plugins: [witness, ...(traces === undefined ? [] : [otel(traces)])],
    ...rest,
  }
}

const gateway: Gateway = createGateway(configOf(profile))
const mount = hosts[serverName]
if (mount === undefined) throw new Error(`no server is called '${serverName}': ${Object.keys(hosts).join(', ')}`)
const { server, origin } = await mount(gateway)

const openFiles = (): number => {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return -1
  }
}

/** Names that every object and every list inherits. */
const inherited = (): string[] =>
  [Object.prototype, Array.prototype].flatMap((prototype) => Reflect.ownKeys(prototype).map(String))
const inheritedAtFirst: ReadonlySet<string> = new Set(inherited())

async function stats(): Promise<Stats> {
  // Twice: what the first collection finalizes, the second one frees.
  for (let round = 0; round < 2; round++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const resources: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
  const { rss, heapUsed, external } = process.memoryUsage()
  const polluted = inherited().filter((name) => !inheritedAtFirst.has(name))
  return { rss, heapUsed, external, fds: openFiles(), resources, unhandledRejections, polluted }
}

const needTokens = (): Tokens => {
  if (tokens === undefined) throw new Error('the profile says nothing of tokens')
  return tokens
}

/** Answers to the questions of `own.ts`. */
const answers: Readonly<Record<string, (argument: never) => unknown>> = {
  stats,
  finished() {
    const told = finished
    finished = []
    return told
  },
  issue: (token: Parameters<Tokens['issue']>[0]) => needTokens().issue(token),
  revoke: (id: string) => needTokens().revoke(id),
  reconfigure: (next: Profile) => gateway.reconfigure(configOf(next)),
  stepClock(ms: number) {
    if (stepClock === undefined) throw new Error('the profile does not say that the clock can be set')
    stepClock(ms)
  },
  spans() {
    if (traces === undefined) throw new Error('the profile says nothing of traces')
    return traces.everything()
  },
  routes: () =>
    gateway.routes.map(
      ({ method, path, operation, format, unversionedAlias: bare = false, queryKey = false, protocolKey = false }) => ({
        method,
        path,
        operation,
        format,
        bare,
        queryKey,
        protocolKey,
      }),
    ),
}

process.on('message', async (message: { id: number; ask: string; argument?: unknown }) => {
  const { id, ask, argument } = message
  try {
    const answer = answers[ask]
    if (answer === undefined) throw new Error(`nobody answers '${ask}'`)
    process.send?.({ id, result: await answer(argument as never) })
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? error.message : String(error) })
  }
})

process.once('SIGTERM', async () => {
  await drain(server, gateway)
  await tokens?.close()
  process.disconnect?.()
  // No exit: nothing may be left that keeps the process alive.
})
process.once('disconnect', () => process.exit())

process.send?.({ origin })

/**
 * Makes this process's time of day one that can be set, as an administrator or NTP sets a machine's: `Date` shifts, timers and
 * `performance.now` do not.
 *
 * @returns sets it ahead by so many milliseconds, or back
 */
export function installSteppedClock(): (ms: number) => void {
  const RealDate = Date
  let offset = 0
  const now = (): number => RealDate.now() + offset
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  })
  return (ms) => {
    offset += ms
  }
}
