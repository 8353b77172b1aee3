import { GatewayError, type Loss, openai } from '@modelgate/core'
import { type Codec, type Lane, redactorOf, translateLane, type UpstreamCodec } from '@modelgate/core/test-support'
import { isObject, type Json, type JsonObject } from '../base/json.ts'

// The injection test puts an unknown field into every object of a body, and an unknown element into every list. Each of
// them has to arrive at the other side or to be reported.

export const unknownField = 'xInjected'
export const unknownText = 'injected-value'
const unknownNumber = 918_273_645

/** Something unknown, and where it is put: a JSON Pointer, in an event for a stream. */
export interface Injection {
  readonly pointer: string
  /** The place with list positions replaced by the types of the entries: places of one shape are probed once. */
  readonly shape: string
  readonly body: Json
}

const step = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** The kind of a list entry: its type, or the names of its members where it has none. */
const kindOf = (value: Json): string =>
  isObject(value) ? (typeof value.type === 'string' ? value.type : Object.keys(value).join('+')) : typeof value

/** An element that no format knows, of the same sort as the list's first entry. */
function elementFor(list: readonly Json[]): Json {
  const [first] = list
  if (typeof first === 'number') return unknownNumber
  if (typeof first === 'string') return unknownText
  return { type: unknownField, [unknownField]: unknownText }
}

/** Every injection into a body: one for each object and list in it. */
export function injectionsInto(body: Json): Injection[] {
  const found: Injection[] = []
  const visit = (value: Json, pointer: string, shape: string, put: (changed: Json) => Json): void => {
    if (Array.isArray(value)) {
      found.push({
        pointer: `${pointer}/${value.length}`,
        shape: `${shape}/*`,
        body: put([...value, elementFor(value)]),
      })
      for (const [at, item] of value.entries())
        visit(item, pointer + step(at), `${shape}/${kindOf(item)}`, (changed) =>
          put(value.map((other, place) => (place === at ? changed : other))),
        )
    } else if (isObject(value)) {
      found.push({
        pointer: pointer + step(unknownField),
        shape: `${shape}/${unknownField}`,
        body: put({ ...value, [unknownField]: unknownText }),
      })
      for (const [key, item] of Object.entries(value))
        visit(item, pointer + step(key), shape + step(key), (changed) => put({ ...value, [key]: changed }))
    }
  }
  visit(body, '', '', (changed) => changed)
  return found
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function laneFor(client: Codec, upstream: UpstreamCodec, value: JsonObject, model = 'probed'): Lane {
  let ids = 0
  const text = JSON.stringify(value)
  return translateLane({
    client,
    upstream,
    request: { value: JSON.parse(text) as JsonObject, text, bytes: encoder.encode(text), members: [] },
    target: { model, quirks: {} },
    newId: (prefix) => `${prefix}made${ids++}`,
    now: () => 1_800_000_000,
    maxEventChars: 1_000_000,
    maxDepth: 1000,
    toClientErrorInfo: (error) => error,
    redactor: redactorOf(openai()),
    reportsLateLosses: false,
  })
}

/** Result of one body. */
export interface Outcome {
  readonly sent: string
  readonly losses: readonly Loss[]
  /** The error that the call ended in. */
  readonly refusal?: string
}

function outcomeOf(lane: () => Lane, send: (lane: Lane) => string): Outcome {
  let made: Lane | undefined
  try {
    made = lane()
    const sent = send(made)
    return { sent, losses: made.report.losses }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { sent: '', losses: made?.report.losses ?? [], refusal: error.message }
  }
}

export const sendRequest = (client: Codec, upstream: UpstreamCodec, body: JsonObject, model?: string): Outcome =>
  outcomeOf(
    () => laneFor(client, upstream, body, model),
    ({ body: sent }) => String(sent),
  )

/** The losses of the answer alone. */
const ofAnswer = ({ sent, losses, refusal }: Outcome): Outcome => ({
  sent,
  losses: losses.filter(({ side }) => side === 'answer'),
  ...(refusal === undefined ? {} : { refusal }),
})

export const sendAnswer = (client: Codec, upstream: UpstreamCodec, asked: JsonObject, body: Json): Outcome =>
  ofAnswer(
    outcomeOf(
      () => laneFor(client, upstream, asked),
      (lane) => String(lane.readResponse(encoder.encode(JSON.stringify(body))).body),
    ),
  )

export interface StreamEvent {
  readonly event: string
  /** Text where it is no JSON. */
  readonly data: Json
}

export const sendStream = (
  client: Codec,
  upstream: UpstreamCodec,
  asked: JsonObject,
  events: readonly StreamEvent[],
): Outcome =>
  ofAnswer(
    outcomeOf(
      () => laneFor(client, upstream, asked),
      (lane) => {
        const stream = lane.openStream()
        for (const { event, data } of events)
          stream.push(
            encoder.encode(
              `${event === '' ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
            ),
          )
        stream.end()
        const { error } = stream.state
        if (error !== undefined) throw new GatewayError('upstream_error', error.message)
        return decoder.decode(stream.take())
      },
    ),
  )

export type Verdict = 'kept' | 'reported' | 'refused' | 'silent'

/** The text, and what stands in base64 in it, in the clear. */
function readable(text: string): string {
  const encoded = text.match(/[A-Za-z0-9+/]{24,}={0,2}/g) ?? []
  return [text, ...encoded.map((one) => Buffer.from(one, 'base64').toString('latin1'))].join('\n').toLowerCase()
}

const keyOf = ({ path, kind, detail }: Loss): string => `${path}\n${kind}\n${detail}`

/**
 * Kept: the value is in the sent body. Reported: a loss of this body alone names the place, or the object that holds it is left
 * out whole with a report that names it, with or without the injection.
 *
 * @param places the pointers of the place, as losses name it
 */
export function verdictOf(places: readonly string[], outcome: Outcome, baseline: Outcome): Verdict {
  if (outcome.refusal !== undefined && baseline.refusal === undefined) return 'refused'
  if (readable(outcome.sent).includes(unknownText) || outcome.sent.includes(String(unknownNumber))) return 'kept'
  const before = new Set(baseline.losses.map(keyOf))
  const holds = (path: string): boolean =>
    places.some((place) => place === path || (path !== '' && place.startsWith(`${path}/`)))
  const holders = new Set(places.map((place) => place.split('/').at(-2) ?? ''))
  const names = (detail: string): boolean => [...holders].some((name) => name !== '' && detail.includes(`'${name}'`))
  const isReported = outcome.losses.some((loss) => {
    if (loss.path === '' || loss.detail === '') return false
    if (before.has(keyOf(loss))) return holds(loss.path) && (loss.kind === 'unsupported' || names(loss.detail))
    const isNamed = loss.path.includes(unknownField) || loss.detail.includes(unknownField)
    return isNamed || holds(loss.path) || holders.has(loss.path.split('/').at(-1) ?? '')
  })
  return isReported ? 'reported' : 'silent'
}
