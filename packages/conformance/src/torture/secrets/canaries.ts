import { Agent } from 'node:http'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { formatOf, sendGoodResponse, sendJson, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, LocalGateway, Pair, Profile, Target } from '../check.ts'
import { bodyFor, exchange, headersFor, pathFor, type TargetRequest } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { asTenant, type Carrier, call, carriers, inFolder, inQuery, withoutCredential } from './callers.ts'
import { type Echo, echoes, keyOf } from './echoes.ts'
import { canary, createWatch, spellings, type Watch } from './leaks.ts'
import { filesIn } from './token-store.ts'

/** Secrets to search for in one gateway. */
interface Scene {
  readonly setting: CheckContext
  readonly target: Target
  readonly local: LocalGateway | undefined
  readonly folder: string
  readonly watch: Watch
  readonly token: string
  /** Names of the upstream keys with their canary values. */
  readonly keys: ReadonlyMap<string, string>
  readonly complaints: string[]
}

const second = (format: Format): string => `${format}-second`
const inTurn = (first: string, then: string): string => `${first}-then-${then}`

/** Two upstreams of every format with separate keys, and a route from each to every other. */
function profileFor(origin: string, keys: ReadonlyMap<string, string>): Profile {
  const upstreams = Object.fromEntries(
    formats.flatMap((format) => [
      [format, { format, baseURL: origin, apiKey: keys.get(format) ?? '' }],
      [second(format), { format, baseURL: `${origin}/second`, apiKey: keys.get(second(format)) ?? '' }],
    ]),
  )
  const models = Object.fromEntries(
    formats.flatMap((first) =>
      formats.map((then) => [
        inTurn(first, then),
        { targets: [first, first === then ? second(then) : then], retry: { attempts: 2, backoffMs: 1 } },
      ]),
    ),
  )
  return { upstreams, models, traces: true }
}

/** Returns the configured upstream of a received call, by its path. */
const upstreamOf = (received: UpstreamCall): string =>
  received.path.startsWith('/second/') ? second(formatOf(received)) : formatOf(received)

/** Returns everything that an upstream received in a call. */
const wholeCall = ({ path, headers, body }: UpstreamCall): string =>
  `${path}\n${JSON.stringify(headers)}\n${body.toString('latin1')}`

/** Returns everything that a client received. */
const wholeAnswer = ({ status, headers, text }: { status: number; headers: object; text: string }): string =>
  `${status}\n${JSON.stringify(headers)}\n${text}`

/** Checks an upstream that repeats its key, in every way and spelling. */
async function listenToEchoes(scene: Scene, agent: Agent): Promise<number> {
  const { setting, target, watch } = scene
  const ways = Object.entries(spellings)
  const jobs = target.pairs.flatMap((pair, number) =>
    echoes.flatMap((echo, place) =>
      [false, true]
        .filter((stream) => (echo.stream ?? stream) === stream)
        // In the short form four of sixteen pairs check each echo.
        .filter((stream) => !setting.short || (number + place + Number(stream)) % 4 === 0)
        .flatMap((stream) => {
          const chosen = setting.short ? [ways[place % ways.length] as (typeof ways)[number]] : ways
          return chosen.map((way) => ({ pair, echo, stream, way }))
        }),
    ),
  )
  await inParallel(jobs, 16, async ({ pair, echo, stream, way: [spelling, spell] }) => {
    const played = setting.upstream.play((received) => echo.play(received, spell(keyOf(received))))
    const answer = await exchange(target, { ...pair, text: played.marker, stream }, { agent, withinMs: 5000 })
    played.end()
    const reported = watch.leaksIn(wholeAnswer(answer))
    for (const name of reported) scene.complaints.push(nameOf(pair, echo, stream, spelling, name))
  })
  return jobs.length
}

const nameOf = ({ client, upstream }: Pair, echo: Echo, stream: boolean, spelling: string, name: string): string =>
  `${client === upstream ? 'same format' : 'translated'}, ${stream ? 'stream' : 'unstreamed'}, ${echo.name}, ${spelling}: ${name} in the response`

/** Client headers that only one provider, or no upstream, may receive. */
const privateHeaders = [
  'cookie',
  'openai-organization',
  'openai-project',
  'openai-beta',
  'anthropic-beta',
  'anthropic-version',
  'x-goog-user-project',
  'x-goog-api-client',
  'x-amz-security-token',
  'proxy-authorization',
  'x-forwarded-for',
  'forwarded',
  'referer',
  'origin',
  'user-agent',
  'x-stainless-lang',
  'x-session-id',
  'x-client-request-id',
  'x-secret',
]
/** The provider that may receive a header. */
const meantFor: Readonly<Record<string, Format>> = { 'anthropic-beta': 'messages', 'anthropic-version': 'messages' }

/** Returns a client's headers besides its token. The version is a date if the dialect requires one. */
const clientHeaders = (watch: Watch): Record<string, string> =>
  Object.fromEntries(
    privateHeaders.map((name) => {
      if (name === 'anthropic-version') return [name, '2023-06-01']
      const value = canary('header')
      watch.guard(`the client's ${name}`, value)
      return [name, name === 'cookie' ? `session=${value}` : value]
    }),
  )

/** Returns the parts of a call that this upstream must not receive. */
function straysIn(received: UpstreamCall, { watch, keys }: Scene, headerWatch: Watch): string[] {
  const mine = upstreamOf(received)
  const text = wholeCall(received)
  const strays = watch.leaksIn(text).filter((name) => name !== mine || !keys.has(name))
  const headers = headerWatch.leaksIn(text).filter((name) => {
    const header = name.replace("the client's ", '')
    return meantFor[header] !== received.format
  })
  if (received.headers['anthropic-version'] !== undefined && received.format !== 'messages')
    headers.push("the client's anthropic-version")
  return [...strays, ...headers].map((name) => `${name} at the upstream of ${received.format}`)
}

/** Sends a call as each kind of client makes it, with the token at each possible place. */
async function callFrom(target: Target, carrier: Carrier, ask: TargetRequest, token: string): Promise<string> {
  const path = pathFor(target, ask)
  const query = carrier.query(token)
  const answer = await call(
    target,
    'POST',
    query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    {
      ...headersFor({ ...target, headers: () => withoutCredential(target, ask.client) }, ask),
      ...carrier.headers(token),
    },
    bodyFor(target, ask),
  )
  return wholeAnswer(answer)
}

/**
 * Sends calls that fall back from one provider to another, with each carrier: data for one must not reach the other.
 */
async function followCalls(scene: Scene): Promise<number> {
  const { setting, target, watch, token, local: own } = scene
  const headerWatch = createWatch()
  const headers = clientHeaders(headerWatch)
  const jobs = target.pairs.flatMap((pair) =>
    carriers
      .filter((carrier) => carrier !== inQuery || pair.client === 'gemini')
      .flatMap((carrier) =>
        (own === undefined ? [undefined] : formats).flatMap((then) =>
          (setting.short ? [then === pair.upstream] : [false, true]).map((stream) => ({ pair, carrier, then, stream })),
        ),
      ),
  )
  await inParallel(jobs, 16, async ({ pair, carrier, then, stream }) => {
    const played = setting.upstream.play((received) => {
      if (received.number > 1 || then === undefined) return sendGoodResponse(received)
      sendJson(received, 503, { error: { message: `Key ${keyOf(received)}`, type: 'server_error', code: 503 } })
    })
    const model = then === undefined ? {} : { model: inTurn(pair.upstream, then) }
    const ask = { ...pair, ...model, text: played.marker, stream, headers }
    const answer = await callFrom(target, carrier, ask, token)
    const { calls } = played
    played.end()
    const what = `${pair.client} to ${pair.upstream}${then === undefined ? '' : `, then ${then}`}, token as ${carrier.name}`
    const due = then === undefined ? 1 : 2
    if (calls.length !== due) scene.complaints.push(`${what}: ${calls.length} calls of ${due}: ${answer.slice(0, 200)}`)
    for (const received of calls)
      for (const stray of straysIn(received, scene, headerWatch)) scene.complaints.push(`${what}: ${stray}`)
    for (const name of [...watch.leaksIn(answer), ...headerWatch.leaksIn(answer)])
      scene.complaints.push(`${what}: ${name} in the response`)
  })
  return jobs.length
}

/** Checks that errors repeat neither rejected tokens nor other parts of the query. */
async function refuse({ target, watch, complaints }: Scene): Promise<number> {
  const wrong = canary('wrong')
  watch.guard('a wrong token', wrong)
  const places = ['/v1/chat/completions', '/v1/messages', '/v1beta/models/gemini-model:generateContent', '/v1/nowhere']
  for (const place of places)
    for (const carrier of carriers) {
      const query = carrier.query(wrong)
      const headers = { 'content-type': 'application/json', ...carrier.headers(wrong) }
      const answer = await call(target, 'POST', query === '' ? place : `${place}?${query}`, headers, '{}')
      for (const name of watch.leaksIn(wholeAnswer(answer)))
        complaints.push(`${place}, ${carrier.name}: ${name} in the response`)
    }
  return places.length * carriers.length
}

/** Searches logs, telemetry and files. */
async function searchRemains({ target, local: own, folder, watch, complaints }: Scene): Promise<string> {
  // Ledgers write within 50 ms.
  await sleep(300)
  const seek = (where: string, text: string): void => {
    for (const name of watch.leaksIn(text)) complaints.push(`${name} in ${where}`)
  }
  seek('the log', target.log())
  if (own === undefined) return `${target.log().length} characters of log`
  const spans = await own.spans()
  seek('the traces', spans)
  const files = filesIn(folder)
  for (const { name, text } of files) seek(`the file ${name}`, text)
  return `${target.log().length} characters of log, ${spans.length} of traces, ${files.length} files`
}

async function startScene(setting: CheckContext, folder: string): Promise<Scene> {
  const watch = createWatch()
  const guarded = (name: string): [string, string] => {
    const secret = canary('sk')
    watch.guard(name, secret)
    return [name, secret]
  }
  const keys = new Map(formats.flatMap((format) => [guarded(format), guarded(second(format))]))
  const profile = profileFor(setting.upstream.origin, keys)
  const complaints: string[] = []
  const fresh = await setting.fresh({ ...profile, tokens: { folder } })
  if (fresh === undefined) {
    // If clients send the upstream's key, that key is the token.
    const token = canary('token')
    watch.guard('the client token', token)
    return {
      setting,
      target: asTenant(setting.target, token),
      local: undefined,
      folder,
      watch,
      token,
      keys,
      complaints,
    }
  }
  const { secret: token } = await fresh.local.issue({ owner: 'torture' })
  watch.guard('the client token', token)
  return { setting, target: asTenant(fresh, token), local: fresh.local, folder, watch, token, keys, complaints }
}

/** Secrets must not leak, whatever the upstream sends. */
export const canaries: Check = {
  row: 36,
  group: 'Auth and secrets',
  title: 'Canary secrets: upstream keys, client tokens, ?key= values',
  promise: '0 bytes found in responses, logs, errors, traces, upstream requests of other providers',
  run: (setting) =>
    inFolder(async (folder) => {
      const scene = await startScene(setting, folder)
      const agent = new Agent({ keepAlive: true, maxSockets: 16 })
      const followed = await followCalls(scene)
      const echoed = await listenToEchoes(scene, agent)
      const refused = await refuse(scene)
      agent.destroy()
      const remains = await searchRemains(scene)
      const { complaints } = scene
      return {
        held: complaints.length === 0,
        figure: `${complaints.length} leaks of ${tellChars} characters or more: ${echoed} responses that echo a key, ${followed} calls through several providers, ${refused} rejections, ${remains}`,
        notes: tally(complaints),
      }
    }),
}

const tellChars = 12
