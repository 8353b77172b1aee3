import { Agent, request } from 'node:http'
import { type Check, callers } from '../check.ts'
import { inParallel, tally } from '../measurements.ts'
import { canary, spellings as common, createWatch, type Watch } from '../secrets/leaks.ts'
import { type Endpoint, endpoints, providers } from './endpoints.ts'
import { sessionParts, sessionWith } from './sessions.ts'
import { mark, type Shape, shapes } from './shapes.ts'
import { type MatrixUpstream, modelOf, startMatrixUpstream } from './upstream.ts'

/** An upstream's secrets must not reach clients, wherever and however the upstream writes them. */
export const redaction: Check = {
  row: 46,
  group: 'Auth and secrets',
  title: 'Redaction matrix: every operation × every place outside of content × every spelling of the upstream’s key',
  promise: '0 bytes of keys in any response, no address in any error, content byte for byte unchanged',
  async run({ short, fresh }) {
    const upstream = await startMatrixUpstream()
    try {
      const keys = Object.fromEntries(providers.map((provider) => [provider, canary('sk')]))
      const target = await fresh({
        upstreams: Object.fromEntries(
          providers.map((provider) => [
            `matrix-${provider}`,
            { format: provider, baseURL: upstream.origin, apiKey: keys[provider] as string },
          ]),
        ),
        models: Object.fromEntries(providers.map((provider) => [`matrix-${provider}-*`, `matrix-${provider}`])),
      })
      if (target === undefined) return { skipped: 'needs a gateway whose upstreams can be configured' }
      const found = await runMatrix(
        { origin: target.origin, token: callers.alice, upstream, keys },
        short ? { spellings: 1, every: 3 } : {},
      )
      const { held, total, same, sameTotal, complaints } = found
      return {
        held: held === total && same === sameTotal,
        figure: `${held}/${total} responses without a part of the key or the address, ${same}/${sameTotal} good responses byte for byte`,
        notes: tally([...complaints]),
      }
    } finally {
      await upstream.close()
    }
  },
}

/** The gateway under test: its models `matrix-<provider>-*` lead to the upstream of the matrix. */
export interface MatrixTarget {
  readonly origin: string
  readonly token: string
  readonly upstream: MatrixUpstream
  /** The key of each provider's upstream. */
  readonly keys: Readonly<Record<string, string>>
}

export interface MatrixOptions {
  /** Number of spellings per place, in rotation. Default: all. */
  readonly spellings?: number
  /** Tests every nth place. Default 1: all of them. */
  readonly every?: number
}

export interface MatrixResult {
  /** Responses without the secret and the address. */
  readonly held: number
  readonly total: number
  /** Good pass-through responses that arrived byte for byte, and their total. */
  readonly same: number
  readonly sameTotal: number
  readonly complaints: readonly string[]
}

const urlEncodedTwice = (secret: string): string => encodeURIComponent(encodeURIComponent(secret))
const lowerEscapes = (text: string): string => text.replaceAll(/%(?:25)*[0-9A-F]{2}/g, (code) => code.toLowerCase())
const hex = (secret: string): string => Buffer.from(secret).toString('hex')

/** Every way in which an upstream may write a secret. */
const spellings: Readonly<Record<string, (secret: string) => string>> = {
  ...common,
  'as a Basic login': (secret) => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
  'URL-encoded in lower case': (secret) => lowerEscapes(encodeURIComponent(secret)),
  'URL-encoded twice': urlEncodedTwice,
  'URL-encoded twice in lower case': (secret) => lowerEscapes(urlEncodedTwice(secret)),
  hex,
  'hex in capitals': (secret) => hex(secret).toUpperCase(),
}

const ways = Object.entries(spellings)

/** Calls every endpoint with every shape in every spelling. */
export async function runMatrix(target: MatrixTarget, options: MatrixOptions = {}): Promise<MatrixResult> {
  const { every = 1, spellings: count = ways.length } = options
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const watch = createWatch()
  for (const [provider, key] of Object.entries(target.keys)) watch.guard(provider, key)
  const complaints: string[] = []
  let number = 0
  let held = 0
  let total = 0
  const places = [...placesOverHttp(target, agent), ...placesInSessions(target)]
  const jobs = places
    .filter((_, at) => at % every === 0)
    .flatMap((place, at) =>
      Array.from({ length: count }, (_, turn) => ({
        place,
        way: ways[(at * count + turn) % ways.length] as (typeof ways)[number],
      })),
    )
  await inParallel(jobs, 8, async ({ place, way: [spelling, spell] }) => {
    const wrong = await judge(place, spell, ++number, target, watch)
    total++
    if (wrong === undefined) held++
    else complaints.push(`${place.what}, ${spelling}: ${wrong}`)
  })
  const passing = endpoints.filter(({ passes }) => passes)
  let same = 0
  await inParallel(passing, 8, async (endpoint) => {
    const wrong = await passesUnchanged(target, agent, endpoint, ++number)
    if (wrong === undefined) same++
    else complaints.push(`${nameOf(endpoint)}, a valid response: ${wrong}`)
  })
  agent.destroy()
  return { held, total, same, sameTotal: passing.length, complaints }
}

/** One place in which an upstream may write its secret. */
interface Place {
  readonly what: string
  readonly provider: string
  /** The upstream's address must be hidden too. */
  readonly hidesAddress: boolean
  run(number: number, spell: (secret: string) => string): Promise<CallOutcome>
}

interface CallOutcome {
  /** The upstream was called. */
  readonly reached: boolean
  /** Everything that the client received. */
  readonly text: string
}

async function judge(
  { run, hidesAddress }: Place,
  spell: (secret: string) => string,
  number: number,
  { upstream }: MatrixTarget,
  watch: Watch,
): Promise<string | undefined> {
  const { reached, text } = await run(number, spell)
  upstream.parts.delete(number)
  if (!reached) return `the upstream was not called: ${text.slice(0, 200)}`
  if (watch.leaksIn(text).length > 0) return `the key is in the response: ${text.slice(0, 500)}`
  if (hidesAddress && text.includes(new URL(upstream.origin).host))
    return `the address is in the response: ${text.slice(0, 500)}`
  return undefined
}

const nameOf = ({ name, stream }: Endpoint): string => `${name}${stream ? ', stream' : ''}`

const placesOverHttp = (target: MatrixTarget, agent: Agent): Place[] =>
  endpoints.flatMap((endpoint) =>
    shapes
      .filter((shape) => shape.play(endpoint) !== undefined)
      .map((shape, at) => ({
        what: `${nameOf(endpoint)}, ${shape.name}`,
        provider: endpoint.provider,
        hidesAddress: shape.tellsFailure,
        run: (number, spell) => ask(target, agent, endpoint, number, { shape, spell, split: at % 2 === 0 }),
      })),
  )

const placesInSessions = ({ upstream, origin, token }: MatrixTarget): Place[] =>
  Object.entries(sessionParts).map(([name, part]) => ({
    what: `realtime, ${name}`,
    provider: 'chat',
    hidesAddress: true,
    async run(number, spell) {
      let reached = false
      const onCall = (): void => {
        reached = true
      }
      upstream.parts.set(number, { ...part, spell, split: false, onCall })
      return { text: await sessionWith(origin, token, modelOf('chat', number)), reached }
    },
  }))

/** Scripted response of a call. */
interface Played {
  readonly shape: Shape
  readonly spell: (secret: string) => string
  readonly split: boolean
}

async function ask(
  target: MatrixTarget,
  agent: Agent,
  endpoint: Endpoint,
  number: number,
  { shape, spell, split }: Played,
): Promise<CallOutcome & { readonly sent: string; readonly body: string }> {
  const { upstream } = target
  let sent: string | undefined
  const reply = shape.play(endpoint)
  upstream.parts.set(number, {
    ...(reply === undefined ? {} : { reply }),
    spell,
    split,
    onCall: (text) => {
      sent = text
    },
  })
  const model = modelOf(endpoint.provider, number)
  if (endpoint.kept === true)
    await send(target, agent, { method: 'POST', path: '/v1/responses', body: { model, input: 'keep-me' } })
  const { method, path, body } = endpoint
  const answer = await send(target, agent, {
    method,
    path: path.replace('{model}', model),
    body: withModel(body, path, model),
  })
  return { reached: sent !== undefined, sent: sent ?? '', ...answer }
}

function withModel(body: Endpoint['body'], path: string, model: string): object | undefined {
  if (body === undefined || path.includes('{model}')) return body
  if (!(body instanceof FormData))
    return 'session' in body ? { session: { ...(body.session as object), model } } : { ...body, model }
  const form = new FormData()
  for (const [name, value] of body) form.set(name, value)
  form.set('model', model)
  return form
}

/** Sends one call and returns the whole response as one text. Never rejects. */
async function send(
  { origin, token }: MatrixTarget,
  agent: Agent,
  { method, path, body }: { method: string; path: string; body: object | undefined },
): Promise<{ text: string; body: string }> {
  const sent = body === undefined ? undefined : new Response(body instanceof FormData ? body : JSON.stringify(body))
  const type = body instanceof FormData ? sent?.headers.get('content-type') : 'application/json'
  const bytes = sent === undefined ? undefined : Buffer.from(await sent.arrayBuffer())
  return new Promise((resolve) => {
    const outgoing = request(
      `${origin}${path}`,
      {
        method,
        agent,
        headers: {
          authorization: `Bearer ${token}`,
          'anthropic-version': '2023-06-01',
          ...(type == null || bytes === undefined ? {} : { 'content-type': type, 'content-length': bytes.length }),
        },
        timeout: 20_000,
      },
      (incoming) => {
        let text = ''
        const finish = (): void => {
          const { statusCode, statusMessage, headers, trailers } = incoming
          resolve({
            body: text,
            text: `${statusCode} ${statusMessage}\n${JSON.stringify({ headers, trailers })}\n${text}`,
          })
        }
        incoming.setEncoding('utf8')
        incoming.on('data', (part: string) => {
          text += part
        })
        incoming.on('end', finish)
        // The response was cut off.
        incoming.on('error', finish)
      },
    )
    outgoing.on('timeout', () => outgoing.destroy(new Error('no response within 20 s')))
    outgoing.on('error', (error) => resolve({ body: '', text: `no response: ${error.message}` }))
    outgoing.end(bytes)
  })
}

/** Checks a good response whose content contains the upstream's key: content is not changed. */
async function passesUnchanged(
  target: MatrixTarget,
  agent: Agent,
  endpoint: Endpoint,
  number: number,
): Promise<string | undefined> {
  const { stream, events = [], answer, bytes } = endpoint
  const good = stream ? events.join('') : (bytes?.body ?? JSON.stringify(answer))
  const type = stream ? 'text/event-stream' : (bytes?.type ?? 'application/json')
  const shape: Shape = {
    name: 'good',
    tellsFailure: false,
    // Contains spaces that no encoder writes, so that re-encoding is detected.
    play: () => ({
      status: 200,
      headers: { 'content-type': type },
      body: good.replaceAll('one two three', `one two three ${target.upstream.origin} ${mark}`).replaceAll('":', '" :'),
    }),
  }
  const { sent, body } = await ask(target, agent, endpoint, number, { shape, spell: (secret) => secret, split: false })
  target.upstream.parts.delete(number)
  return body === sent ? undefined : `sent ${sent.slice(0, 200)}, got ${body.slice(0, 200)}`
}
