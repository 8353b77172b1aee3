import { type FinishEvent, type Gateway, GatewayError } from '@modelgate/core'
import { gatewayTo, requestTo } from '../../base/gateways.ts'
import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { baseAnswers, baseEvents, baseRequests } from './base-bodies.ts'

/** A name in an SDK's types, with a value that contains it and the same value without it. */
export interface DriftName {
  readonly format: Format
  readonly side: 'request' | 'answer' | 'event'
  readonly name: string
  readonly place: string
  readonly sample: Json
  readonly bare: Json
}

/**
 * Outcome of a name in other formats. `kept`: every other format has it; `translated`: some have it; `reported`: none
 * has it, and each reports the loss; `ignored`: at least one loses it without a report.
 */
type Outcome = 'kept' | 'translated' | 'reported' | 'ignored'

export interface Probed extends DriftName {
  readonly outcome: Outcome
  /** Exceptions, and changes or rejections in the name's own format. */
  readonly problems: readonly string[]
}

/** Result of one body in one pair of formats. */
interface Seen {
  /** Body that the upstream or the client received, without ids that are generated per call. */
  readonly text: string
  readonly losses: readonly string[]
  readonly refused: boolean
  readonly problem?: string
}

type Look = (body: JsonObject, own: Format, other: Format) => Promise<Seen>

const madeIds = /\b(?:call|toolu|msg|fc|rs|resp|chatcmpl|req|item|ctc|srvtoolu)[_-][A-Za-z0-9_-]+/g
const withoutIds = (text: string): string =>
  text.replace(madeIds, 'ID').replace(/"(?:created|created_at|completed_at)":\d+/g, '"created":0')

/** Merges the sample into a body: lists are extended, fields are set. */
function merge(base: Json, sample: Json): Json {
  if (Array.isArray(base) && Array.isArray(sample)) return [...base, ...sample]
  if (!isObject(base) || !isObject(sample)) return sample
  const out: JsonObject = { ...base }
  for (const [key, value] of Object.entries(sample))
    out[key] = Object.hasOwn(out, key) ? merge(out[key] ?? null, value) : value
  return out
}

/** Creates a gateway whose upstream returns the body in `response`; one serves all probes of a pair. */
function setting(upstream: Format) {
  const response = { body: '', type: 'application/json' }
  const finished: FinishEvent[] = []
  const gateway = gatewayTo(upstream, {
    fetch: (async () => new Response(response.body, { headers: { 'content-type': response.type } })) as typeof fetch,
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
  })
  return { gateway, response, finished }
}
const settings = Object.fromEntries(formats.map((format) => [format, setting(format)])) as Record<
  Format,
  ReturnType<typeof setting>
>

const isInternal = (error: unknown): boolean => !(error instanceof GatewayError) || error.info.kind === 'internal'

/** Removes the model, which the gateway sets, and stream_options, which it adds to chat streams. */
const unnamed = ({ model: _, stream_options: _s, ...body }: JsonObject): string => JSON.stringify(body)

const lookAtRequest: Look = async (body, own, other) => {
  const { gateway } = settings[other]
  try {
    const { plan } = await gateway.explain(requestTo(own, JSON.stringify(body), {}, { stream: body.stream === true }))
    const [target] = plan
    const sent = target?.request?.body
    const seen = {
      text: withoutIds(JSON.stringify(sent ?? null)),
      losses: (target?.losses ?? []).map(({ path, detail }) => `${path} ${detail}`),
      refused: target?.refused !== undefined,
    }
    if (own !== other) return seen
    if (target?.lane !== 'wire' || !isObject(sent ?? null) || unnamed(sent as JsonObject) !== unnamed(body))
      return { ...seen, problem: 'changed in its own format' }
    return seen
  } catch (error) {
    const text = String(error)
    if (isInternal(error)) return { text, losses: [], refused: true, problem: `exception: ${text}` }
    return {
      text,
      losses: [],
      refused: true,
      ...(own === other ? { problem: `rejected in its own format: ${text}` } : {}),
    }
  }
}

async function ask(gateway: Gateway, client: Format, stream: boolean): Promise<{ status: number; text: string }> {
  const body = JSON.stringify({ ...baseRequests[client], ...(stream && client !== 'gemini' ? { stream } : {}) })
  const response = await gateway.fetch(requestTo(client, body, {}, { stream }))
  return { status: response.status, text: await response.text() }
}

/** @param upstream format of the name and of the upstream */
async function answered(upstream: Format, client: Format, body: string, stream: boolean): Promise<Seen> {
  const { gateway, response, finished } = settings[upstream]
  response.body = body
  response.type = stream ? 'text/event-stream' : 'application/json'
  const before = finished.length
  const { status, text } = await ask(gateway, client, stream)
  for (let tick = 0; finished.length === before && tick < 100; tick++) await new Promise((next) => setImmediate(next))
  const losses = (finished.at(-1)?.losses ?? []).map(({ path, detail }) => `${path} ${detail}`)
  const seen = { text: withoutIds(text), losses, refused: status >= 400 }
  return status === 500 || finished.length === before ? { ...seen, problem: `exception: ${text.slice(0, 200)}` } : seen
}

const lookAtAnswer: Look = async (body, own, other) => {
  const text = JSON.stringify(body)
  const seen = await answered(own, other, text, false)
  if (own !== other || seen.refused || seen.text === withoutIds(text)) return seen
  return { problem: 'changed in its own format', ...seen }
}

const lookAtEvents: Look = async (event, own, other) => {
  const { before, after } = baseEvents[own]
  const events = [...before, ...(Object.keys(event).length === 0 ? [] : [event]), ...after]
  const named = own === 'messages' || own === 'responses'
  const text = events
    .map((data) => `${named ? `event: ${String(data.type)}\n` : ''}data: ${JSON.stringify(data)}\n\n`)
    .join('')
  return answered(own, other, own === 'chat' ? `${text}data: [DONE]\n\n` : text, true)
}

const looks: Readonly<Record<DriftName['side'], Look>> = {
  request: lookAtRequest,
  answer: lookAtAnswer,
  event: lookAtEvents,
}

const known = new Map<string, Promise<Seen>>()

/** Caches results: names of one object share the body without them. */
function lookOnce(side: DriftName['side'], body: JsonObject, own: Format, other: Format): Promise<Seen> {
  const key = `${side} ${own} ${other} ${JSON.stringify(body)}`
  let seen = known.get(key)
  if (seen === undefined) {
    seen = looks[side](body, own, other)
    known.set(key, seen)
  }
  return seen
}

const bases: Readonly<Record<DriftName['side'], (format: Format) => Json>> = {
  request: (format) => baseRequests[format],
  answer: (format) => baseAnswers[format],
  event: () => ({}),
}

/** Sends a name through its own format and translates it to all others. */
export async function probe(name: DriftName): Promise<Probed> {
  const { format, side, sample, bare } = name
  const base = bases[side](format)
  const full = merge(base, sample) as JsonObject
  const without = side === 'event' ? {} : (merge(base, bare) as JsonObject)
  const problems: string[] = []
  const outcomes = new Set<'there' | 'reported' | 'ignored'>()
  for (const other of formats) {
    const seen = await looks[side](full, format, other)
    if (seen.problem !== undefined) problems.push(`${format} → ${other}: ${seen.problem}`)
    if (other === format) continue
    const plain = await lookOnce(side, without, format, other)
    const usual = await lookOnce(side, base as JsonObject, format, other)
    if (seen.losses.some((loss) => !plain.losses.includes(loss)) || (seen.refused && side === 'request'))
      outcomes.add('reported')
    else if (seen.text !== plain.text) outcomes.add('there')
    // If its container is reported, the name is lost with it.
    else if (seen.losses.some((loss) => !usual.losses.includes(loss))) outcomes.add('reported')
    else outcomes.add('ignored')
  }
  return { ...name, outcome: outcomeOf(outcomes), problems }
}

function outcomeOf(outcomes: ReadonlySet<'there' | 'reported' | 'ignored'>): Outcome {
  if (outcomes.has('ignored')) return 'ignored'
  if (!outcomes.has('there')) return 'reported'
  return outcomes.has('reported') ? 'translated' : 'kept'
}
