// Runs a gateway in its own process. `local-target.ts` starts it with a server's name, the upstream's origin and a
// profile, and controls it with messages.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cohere, createGateway, type Gateway, type GatewayConfig, GatewayError, type Plugin } from '@modelgate/core'
import { drain } from '@modelgate/node/adapter'
import { otel } from '@modelgate/otel'
import { createRecorder } from '@modelgate/otel/test-support'
import { createTokens, fileLedger, folderStorage, redisStorage, type Tokens } from '@modelgate/tokens'
import { createClient } from 'redis'
import { noSharedHealth, upstreamKey, upstreamOf } from '../base/gateways.ts'
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
  // Some checks stop Redis.
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
    ...(defaults === true ? {} : { retry: false, breaker: false, health: noSharedHealth }),
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
if (mount === undefined)
  throw new Error(`Unknown server '${serverName}'. Expected one of ${Object.keys(hosts).join(', ')}`)
const { server, origin } = await mount(gateway)

const openFiles = (): number => {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return -1
  }
}

/** Returns the names that every object and every list inherits. */
const inherited = (): string[] =>
  [Object.prototype, Array.prototype].flatMap((prototype) => Reflect.ownKeys(prototype).map(String))
const inheritedAtFirst: ReadonlySet<string> = new Set(inherited())

async function stats(): Promise<Stats> {
  // Two collections, because the second one frees what the first one finalized.
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
  if (tokens === undefined) throw new Error('the profile has no tokens')
  return tokens
}

/** Handlers of the messages of `local-target.ts`. */
const answers: Readonly<Record<string, (argument: never) => unknown>> = {
  stats,
  finished() {
    const reported = finished
    finished = []
    return reported
  },
  issue: (token: Parameters<Tokens['issue']>[0]) => needTokens().issue(token),
  revoke: (id: string) => needTokens().revoke(id),
  reconfigure: (next: Profile) => gateway.reconfigure(configOf(next)),
  stepClock(ms: number) {
    if (stepClock === undefined) throw new Error('the profile is not steppable')
    stepClock(ms)
  },
  spans() {
    if (traces === undefined) throw new Error('the profile has no traces')
    return traces.everything()
  },
  routes: () =>
    gateway.routes
      // An app with other routes keeps these paths for itself.
      .filter(({ hostMayOwn }) => hostMayOwn !== true || serverName === 'node')
      .map(
        ({
          method,
          path,
          operation,
          format,
          formatByHeader = {},
          unversionedAlias: bare = false,
          queryKey = false,
          protocolKey = false,
        }) => ({ method, path, operation, format, formatByHeader, bare, queryKey, protocolKey }),
      ),
}

process.on('message', async (message: { id: number; ask: string; argument?: unknown }) => {
  const { id, ask, argument } = message
  try {
    const answer = answers[ask]
    if (answer === undefined) throw new Error(`unknown request '${ask}'`)
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
 * Replaces `Date` by a clock that can be stepped, as an administrator or NTP steps a machine's clock. Timers and
 * `performance.now` are not affected.
 *
 * @returns a function that steps the clock forwards or backwards by milliseconds
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
