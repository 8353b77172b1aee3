import { GatewayError, type Loss, openai } from '@modelgate/core'
import {
  type ClientCodec,
  type Lane,
  redactorOf,
  translateLane,
  type UpstreamCodec,
} from '@modelgate/core/test-support'
import { isObject, type Json, type JsonObject } from '../base/json.ts'

// The injection test adds an unknown field to every object of a body, and an unknown element to every list. Each must
// arrive at the other side or be reported.

export const unknownField = 'xInjected'
export const unknownText = 'injected-value'
const unknownNumber = 918_273_645

/** An unknown value and its place: a JSON Pointer, within an event for a stream. */
export interface Injection {
  readonly pointer: string
  /** The place with list positions replaced by entry types: places of the same shape are tested once. */
  readonly shape: string
  readonly body: Json
}

const step = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Returns the kind of a list entry: its type, or its member names without a type. */
const kindOf = (value: Json): string =>
  isObject(value) ? (typeof value.type === 'string' ? value.type : Object.keys(value).join('+')) : typeof value

/** Returns an element that no format knows, of the same JSON type as the list's first entry. */
function elementFor(list: readonly Json[]): Json {
  const [first] = list
  if (typeof first === 'number') return unknownNumber
  if (typeof first === 'string') return unknownText
  return { type: unknownField, [unknownField]: unknownText }
}

/** Returns all injections into a body: one per object and list. */
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

export function laneFor(client: ClientCodec, upstream: UpstreamCodec, value: JsonObject, model = 'probed'): Lane {
  let ids = 0
  const text = JSON.stringify(value)
  return translateLane({
    client,
    upstream,
    request: {
      value: JSON.parse(text) as JsonObject,
      fields: JSON.parse(text) as JsonObject,
      text,
      bytes: encoder.encode(text),
      members: [],
    },
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
  /** Error that ended the call. */
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

export const sendRequest = (client: ClientCodec, upstream: UpstreamCodec, body: JsonObject, model?: string): Outcome =>
  outcomeOf(
    () => laneFor(client, upstream, body, model),
    ({ body: sent }) => String(sent),
  )

/** Keeps only the losses of the response. */
const ofAnswer = ({ sent, losses, refusal }: Outcome): Outcome => ({
  sent,
  losses: losses.filter(({ side }) => side === 'answer'),
  ...(refusal === undefined ? {} : { refusal }),
})

export const sendAnswer = (client: ClientCodec, upstream: UpstreamCodec, request: JsonObject, body: Json): Outcome =>
  ofAnswer(
    outcomeOf(
      () => laneFor(client, upstream, request),
      (lane) => String(lane.readResponse(encoder.encode(JSON.stringify(body))).body),
    ),
  )

export interface StreamEvent {
  readonly event: string
  /** A string if the data is not JSON. */
  readonly data: Json
}

export const sendStream = (
  client: ClientCodec,
  upstream: UpstreamCodec,
  request: JsonObject,
  events: readonly StreamEvent[],
): Outcome =>
  ofAnswer(
    outcomeOf(
      () => laneFor(client, upstream, request),
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

/** Returns the text with base64 content decoded. */
function readable(text: string): string {
  const encoded = text.match(/[A-Za-z0-9+/]{24,}={0,2}/g) ?? []
  return [text, ...encoded.map((one) => Buffer.from(one, 'base64').toString('latin1'))].join('\n').toLowerCase()
}

const keyOf = ({ path, kind, detail }: Loss): string => `${path}\n${kind}\n${detail}`

/**
 * Kept: the value is in the sent body. Reported: a loss of this body names the place, or the enclosing object is
 * dropped with a report that names it, with or without the injection.
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
