import { textOf } from '../../base/json.ts'
import { holdsWithin } from '../../torture/measurements.ts'
import { type Case, type Check, type RuntimeTarget, tallyOf } from '../check.ts'
import type { Tried } from '../programs/in-process.js'

/** Returns the cases of a check that ran inside the runtime, from a host's route. */
async function triedAt({ origin }: RuntimeTarget, path: string): Promise<readonly Case[]> {
  const response = await fetch(`${origin}${path}`)
  const text = await response.text()
  if (!response.ok)
    return [{ name: path, ask: async () => `returned status ${response.status}: ${text.slice(0, 300)}` }]
  return (JSON.parse(text) as Tried[]).map(({ name, wrong }) => ({ name, ask: async () => wrong ?? undefined }))
}

/** SDKs in the same process, without a server between them and the gateway. */
export const inProcess: Check = {
  name: 'in process',
  promise:
    'the official OpenAI and Anthropic SDKs inside the runtime, with `gateway.fetch` as their fetch and upstreams of every format; the fake provider as the gateway’s fetch',
  async run(place) {
    place.providers.reset()
    const sdks = await triedAt(place, '/host/in-process')
    const left: Case = {
      name: 'the aborted stream ends the upstream call',
      async ask() {
        const gone = await holdsWithin(() => place.providers.stats.aborted === 1, 10_000)
        return gone ? undefined : JSON.stringify(place.providers.stats)
      },
    }
    const offline = await triedAt(place, '/host/offline')
    return tallyOf([...sdks, left, ...offline])
  },
}

/** One build uses web streams, the other Node's sockets. */
async function honosBuild(place: RuntimeTarget): Promise<string | undefined> {
  const wanted = `@modelgate/hono/dist/${place.pin.program === 'on-node.js' ? 'node.js' : 'index.js'}`
  const found =
    place.pin.program === 'on-workerd.js'
      ? (await place.project.bundleForWorkers()).filter((file) =>
          /@modelgate\/hono\/dist\/(index|node)\.js$/.test(file),
        )
      : [textOf(await (await fetch(`${place.origin}/host/more/hono`)).json())]
  return found.length === 1 && found[0]?.endsWith(wanted) ? undefined : `it is ${found.join(', ')}`
}

function hostCases(place: RuntimeTarget): Case[] {
  const { origin, token } = place
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const chat = (stream: boolean): RequestInit => ({
    method: 'POST',
    headers,
    body: JSON.stringify({
      model: 'messages-model',
      messages: [{ role: 'user', content: '[[say:below a path]]' }],
      stream,
    }),
  })
  const answers = (path: string, status: number, has: RegExp, init?: RequestInit): Case => ({
    name: `${init?.method ?? 'GET'} ${path}`,
    async ask() {
      const response = await fetch(`${origin}${path}`, init)
      const text = await response.text()
      if (response.status !== status) return `returned status ${response.status}: ${text.slice(0, 200)}`
      return has.test(text) ? undefined : `returned ${text.slice(0, 200)}`
    },
  })
  return [
    answers('/host/before', 200, /^before$/),
    answers('/host/unknown', 404, /^nothing of the host here$/),
    answers('/host/ai/v1/models', 200, /chat-model/, { headers }),
    answers('/host/ai/v1/chat/completions', 200, /below a path/, chat(false)),
    { ...answers('/host/ai/v1/chat/completions', 200, /\[DONE\]/, chat(true)), name: 'the same, streamed' },
    { name: 'the build of @modelgate/hono for this runtime', ask: () => honosBuild(place) },
    answers('/', 200, /<!doctype html>/i),
    answers('/console/playground', 200, /<!doctype html>/i),
    answers('/console/info.json', 200, /"endpoints"/),
    answers('/v1/unknown', 404, /"error"/),
    answers('/v1/chat/completions', 405, /"error"/),
  ]
}

/** A host with its own routes, and the other packages that run in every runtime. */
export const host: Check = {
  name: 'host',
  promise:
    'below Hono with `honoMiddleware`, in the build for this runtime; home page and Playground of `consolePages`; unknown paths and methods',
  run: (place) => tallyOf(hostCases(place)),
}

/** Tokens need Node's modules. */
export const tokens: Check = {
  name: 'tokens',
  promise:
    'platform tokens in memory, in a folder and (if the machine has one) in Redis: issued, counted, limited, revoked',
  async run(place) {
    if (place.pin.program === 'on-workerd.js') return { without: 'Node’s modules' }
    const storages = ['memory', 'folder', ...(place.redis === undefined ? [] : ['redis'])]
    const cases = []
    for (const storage of storages)
      for (const { name, ask } of await triedAt(place, `/host/more/tokens-${storage}`))
        cases.push({ name: `${storage}, ${name}`, ask })
    return tallyOf(cases)
  },
}
