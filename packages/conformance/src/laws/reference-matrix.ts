import {
  createGateway,
  type Gateway,
  type GatewayConfig,
  memoryResponseStore,
  type ResponseStore,
} from '@modelgate/core'
import { upstreamOf } from '../base/gateways.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import { good } from '../base/streams.ts'
import { wholeResponse } from '../base/upstream-responses.ts'
import { chatPlaces, listedPrompt, operationPlaces, type PlaceCase } from './reference-bodies.ts'

/** Outcome of a reference: it is sent to the upstream, or rejected with a 400 that names the setting. */
type Decision = 'sent' | 'refused'

/** Owner, caller and gateway of a reference. */
interface State {
  readonly name: string
  readonly config?: Partial<GatewayConfig<string>>
  /** The identity that received the id in an earlier response. Default: none. */
  readonly receivedBy?: 'alice' | 'bob' | 'nameless'
  /** Runs between that response and the request. */
  forget?(scene: Scene): void
  /** Caller that sends the reference. Default: alice. */
  readonly caller?: 'alice' | 'nameless'
  /** Rewrites the JSON body that contains the reference under this name. */
  write?(text: string, name: string, id: string): string
  /** The gateway rejects the caller before it checks references: an identity needs an id. */
  readonly unauthenticated?: true
  /** Rejected for another reason than its owner. */
  readonly malformed?: true
  /** The configuration accepts the id. */
  readonly accepted?: true
  /** The caller owns the id, if its kind occurs in responses. */
  readonly owned?: true
}

/** A gateway over an upstream that responds to every call with the id in each place where a response can have one. */
interface Scene {
  gateway: Gateway
  readonly clear: () => void
  readonly pass: (ms: number) => void
  readonly restart: () => void
}

const listed = 'listed-id'
const hour = 3_600_000

/** Large enough for outline parsing. */
const enlarged = (text: string): string => text.replace(/\}$/, `,"padding":"${'All work and no play. '.repeat(3000)}"}`)

const states: readonly State[] = [
  { name: 'own', receivedBy: 'alice', owned: true },
  { name: "another identity's", receivedBy: 'bob' },
  { name: 'unknown' },
  { name: 'evicted', receivedBy: 'alice', forget: ({ clear }) => clear() },
  { name: 'expired', receivedBy: 'alice', forget: ({ pass }) => pass(25 * hour) },
  { name: 'after a restart', receivedBy: 'alice', forget: ({ restart }) => restart() },
  { name: 'an identity without id', receivedBy: 'nameless', caller: 'nameless', unauthenticated: true },
  { name: 'store: false', receivedBy: 'alice', config: { responses: { store: false } } },
  {
    name: 'duplicate name',
    malformed: true,
    write: (text, name, id) =>
      text
        .replace(`"${name}":"${id}"`, `"${name}":"${id}","${name}":null`)
        .replace(`["${id}"]`, `["${id}"],"${name}":[]`),
  },
  {
    name: 'escaped name',
    write: (text, name) => text.replace(`"${name}"`, `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`),
  },
  { name: 'in a large body', write: enlarged },
  {
    name: 'owned, in a large body',
    receivedBy: 'alice',
    owned: true,
    write: enlarged,
  },
  {
    name: 'in a large body, store: false',
    config: { responses: { store: false }, references: { prompts: [listedPrompt] } },
    write: enlarged,
  },
  { name: "auth: 'none'", receivedBy: 'alice', config: { auth: 'none', responses: {} } },
  {
    name: 'accepted by the configuration',
    accepted: true,
    config: {
      references: {
        responses: [listed],
        conversations: [listed],
        prompts: [listed, listedPrompt],
        files: [listed],
        containers: [listed],
        vectorStores: [listed],
        caches: [listed],
        skills: [listed],
        voices: [listed],
        guardrails: [listed],
      },
    },
  },
]

const paths: Readonly<Record<Format, (model: string, stream: boolean) => string>> = {
  chat: () => '/v1/chat/completions',
  messages: () => '/v1/messages',
  responses: () => '/v1/responses',
  gemini: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
}

/** Returns a response with the id in every place where the format has the id of a stored object. */
function answerWith(format: Format, id: string): object {
  const { [format]: plain } = wholeResponse
  switch (format) {
    case 'chat':
      return {
        ...plain,
        choices: [{ index: 0, message: { role: 'assistant', content: 'one', audio: { id } }, finish_reason: 'stop' }],
      }
    case 'messages':
      return { ...plain, ...(id !== '' && { id }), container: { id, expires_at: '2027-01-01T00:00:00Z' } }
    case 'responses':
      return { ...plain, id, output: [{ id, type: 'code_interpreter_call', container_id: id, code: '', outputs: [] }] }
    case 'gemini':
      return plain
  }
}

const formatAt = (url: string): Format =>
  formats.find((format) => url.includes(paths[format]('', false).replace(/.*:/, ':'))) ??
  (url.includes(':stream') ? 'gemini' : 'chat')

function openScene({ config }: State, calls: string[], answers: { id: string }): Scene {
  let now = Date.now()
  let store = new Map<string, ResponseStore>()
  const current: ResponseStore = {
    get: (key) => inner().get(key),
    set: (key, value, ttlMs) => inner().set(key, value, ttlMs),
    delete: (key) => inner().delete(key),
  }
  const inner = (): ResponseStore => {
    const known = store.get('') ?? memoryResponseStore({ now: () => now })
    store.set('', known)
    return known
  }
  const open = (): Gateway =>
    createGateway({
      auth: (token) => ({ id: token === 'nameless' ? '' : token }),
      upstreams: Object.fromEntries(formats.map((format) => [format, upstreamOf(format)])),
      models: Object.fromEntries(formats.map((format) => [`${format}-model`, format])),
      responses: { store: current },
      references: { prompts: [listedPrompt] },
      logger: false,
      retry: false,
      breaker: false,
      fetch: (async (url: string, init: RequestInit) => {
        const text = typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body as Uint8Array)
        calls.push(text)
        const format = formatAt(url)
        if (text.includes('"stream":true') || url.includes(':stream'))
          return new Response(good[format].join(''), { headers: { 'content-type': 'text/event-stream' } })
        return Response.json(answerWith(format, answers.id))
      }) as typeof fetch,
      ...config,
    })
  const scene: Scene = {
    gateway: open(),
    clear: () => {
      store = new Map()
    },
    pass: (ms) => {
      now += ms
    },
    restart: () => {
      store = new Map()
      scene.gateway = open()
    },
  }
  return scene
}

const send = (gateway: Gateway, path: string, body: object | string, caller: string): Promise<Response> =>
  gateway.fetch(`http://gateway.test${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${caller}`,
      'anthropic-version': '2023-06-01',
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const leafOf = ({ place }: PlaceCase): string => place.path.replaceAll('[]', '').split('.').at(-1) ?? ''

/** Returns true for kinds whose ids a caller can receive in a response of the same format. */
const canReceive = ({ scheme, place: { kind } }: PlaceCase): boolean =>
  scheme !== 'gemini' && (kind === 'responses' || kind === 'containers')

function fateOf(state: State, one: PlaceCase): Decision {
  return state.accepted === true || (state.owned === true && canReceive(one)) ? 'sent' : 'refused'
}

export interface MatrixResult {
  readonly total: number
  readonly complaints: readonly string[]
}

/**
 * Sends each reference of the table, as each format's clients write it, in each state, to an upstream of the same and
 * of another format: unstreamed and streamed.
 *
 * @param short half of the calls: unstreamed and streamed in turn
 */
export async function referenceMatrix(short: boolean): Promise<MatrixResult> {
  const complaints: string[] = []
  let total = 0
  for (const state of states) {
    const calls: string[] = []
    const answers = { id: '' }
    const scene = openScene(state, calls, answers)
    for (const [index, one] of chatPlaces.entries()) {
      const { scheme } = one
      const decision = fateOf(state, one)
      const other = formats.find((format) => format !== scheme) as Format
      for (const upstream of [scheme, other]) {
        // Losses of an accepted reference in other formats are covered by the tests of the formats.
        if (upstream !== scheme && decision === 'sent') continue
        for (const stream of short ? [index % 2 === 0] : [false, true]) {
          const id = state.accepted === true ? listed : `id-${++total}-${state.name.length}`
          if (state.accepted === true) total++
          const model = `${upstream}-model`
          if (state.receivedBy !== undefined) {
            answers.id = id
            const { gateway } = scene
            const plain = { ...one.body(id), ...plainBody(scheme), model: `${scheme}-model` }
            await (await send(gateway, paths[scheme](`${scheme}-model`, false), plain, state.receivedBy)).text()
            answers.id = ''
          }
          state.forget?.(scene)
          calls.length = 0
          const { gateway } = scene
          const body = { ...one.body(id), ...(scheme === 'gemini' ? {} : { model, stream }) }
          const written = state.write?.(JSON.stringify(body), leafOf(one), id) ?? JSON.stringify(body)
          const reply = await send(gateway, paths[scheme](model, stream), written, state.caller ?? 'alice')
          const text = await reply.text()
          const wrong = complaintOf(decision, one, id, reply.status, text, calls, state)
          if (wrong !== undefined)
            complaints.push(`${scheme} ${one.place.path} to ${upstream}, ${state.name}, stream ${stream}: ${wrong}`)
        }
      }
    }
  }
  const operations = await operationsMatrix()
  return { total: total + operations.total, complaints: [...complaints, ...operations.complaints] }
}

/** Returns a request without the reference. */
function plainBody(scheme: Format): object {
  const body: Record<string, unknown> = {
    chat: { messages: [{ role: 'user', content: 'hello' }] },
    messages: { messages: [{ role: 'user', content: 'hello' }], container: undefined, thread: { type: 'create' } },
    responses: { input: 'hello', tools: undefined },
    gemini: {},
  }[scheme]
  for (const name of ['previous_response_id', 'conversation', 'prompt']) body[name] = undefined
  return body
}

function complaintOf(
  decision: Decision,
  { place: { kind } }: PlaceCase,
  id: string,
  status: number,
  text: string,
  calls: readonly string[],
  { malformed, unauthenticated }: Pick<State, 'malformed' | 'unauthenticated'> = {},
): string | undefined {
  if (decision === 'sent')
    return status === 200 && calls.some((call) => call.includes(id)) ? undefined : `returned status ${status}: ${text}`
  if (calls.length > 0) return `reached the upstream: ${calls[0]?.slice(0, 300)}`
  if (unauthenticated === true) return status === 500 ? undefined : `returned status ${status}`
  if (status !== 400) return `returned status ${status}`
  return malformed === true || text.includes(`references.${kind}`)
    ? undefined
    : `the error does not name the setting: ${text}`
}

const operationPaths = {
  'realtime-sessions': (path: string) =>
    path.startsWith('session') ? '/v1/realtime/client_secrets' : '/v1/realtime/sessions',
  speech: () => '/v1/audio/speech',
  'image-edits': () => '/v1/images/edits',
  images: () => '/v1beta/models/gemini-model:predict',
  embeddings: (path: string) =>
    `/v1beta/models/gemini-model:${path.startsWith('requests') ? 'batchEmbedContents' : 'embedContent'}`,
} as const

/** Tests references in bodies of other operations, which never have an owner. */
async function operationsMatrix(): Promise<MatrixResult> {
  const complaints: string[] = []
  const calls: string[] = []
  const { gateway } = openScene({ name: '' }, calls, { id: '' })
  for (const one of operationPlaces) {
    const { scheme, place } = one
    const path = operationPaths[scheme as keyof typeof operationPaths](place.path)
    const body = one.body('gs://bucket/unknown')
    const model = 'chat-model'
    const session = { ...(body.session as object), type: 'realtime', model }
    const reply = await send(
      gateway,
      path,
      path.includes(':') ? body : { ...body, model, ...('session' in body && { session }) },
      'alice',
    )
    const wrong = complaintOf('refused', one, '', reply.status, await reply.text(), calls)
    if (wrong !== undefined) complaints.push(`${scheme} ${place.path}: ${wrong}`)
  }
  return { total: operationPlaces.length, complaints }
}
