import { concatBytes } from '../bytes.ts'
import { errorOf, GatewayError } from '../errors.ts'
import type { Codec, ResponseTap, Says, SseEvent, StreamTap, TargetTraits } from '../formats/codec.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { editJson } from '../json/edit.ts'
import type { Member } from '../json/scan.ts'
import { spliceJson } from '../json/splice.ts'
import { createReport } from '../losses.ts'
import { createSaid } from '../said.ts'
import { createBlockCutter } from '../sse/blocks.ts'
import { createSseDecoder, tooLarge } from '../sse/decode.ts'
import { encodeAllSse } from '../sse/encode.ts'
import type { AnswerStream, Lane } from './lane.ts'

/** The client's body in every form the lanes need, read once. */
export interface RequestBody {
  readonly bytes: Uint8Array
  readonly text: string
  readonly members: readonly Member[]
  readonly value: JsonObject
  /** See Codec: what the body may have in front of a model's name that its path says. */
  readonly modelPrefix?: string | undefined
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Client and upstream speak the same format: the body passes as it came but for the model's name and what the codec's
 * own `wireEdit` asks for; the answer's bytes pass untouched. A tap reads usage and the ending on the side.
 *
 * @param redact takes the upstream's secrets out of an error event's text, the one place where its own words are no answer
 */
export function wireLane(
  codec: Codec,
  request: RequestBody,
  target: TargetTraits,
  maxEventChars: number,
  redact: (text: string) => string,
): Lane {
  const edit = codec.wireEdit(request.value, target)
  const report = createReport(request.value)
  for (const loss of edit?.losses ?? []) report.add(loss)
  return {
    kind: 'wire',
    upstreamFormat: codec.format,
    body: setModel(request, target.model, { ...edit?.set }, edit?.drop),
    report,
    answer(bytes) {
      const { error, ...tapped } = tapQuietly(codec, parseAnswer(bytes))
      if (error !== undefined) throw errorOf(error)
      return { body: bytes, ...tapped }
    },
    openStream: () => {
      const createTap = (): StreamTap => codec.tapStream({ withholdUsage: edit?.erase !== undefined, target })
      return edit?.erase === undefined
        ? passingStream(createTap, maxEventChars, redact, codec.says)
        : editingStream(createTap(), edit.erase, maxEventChars, redact, codec.says)
    },
  }
}

/** The body with the upstream's name for the model, the other members to `set`, and without those to `drop`; the very bytes if nothing changes. */
export function setModel(
  request: RequestBody,
  name: string,
  set: JsonObject,
  drop: readonly string[] = [],
): string | Uint8Array {
  // Also where the name stays: of a name given twice, in whatever case, the upstream might read the one that nobody checked.
  const named = request.members.filter(({ key }) => key.toLowerCase() === 'model')
  const { model } = request.value
  if (model !== name || named.length > 1)
    for (const { key, start, end } of named) set[key] = renamed(request, request.text.slice(start, end), name)
  if (drop.length > 0) return editJson(request.text, request.members, set, drop)
  return Object.keys(set).length === 0 ? request.bytes : spliceJson(request.text, request.members, set)
}

/** What stands in front of the name may stay there. */
function renamed({ value, modelPrefix = '' }: RequestBody, written: string, name: string): string {
  const own: unknown = JSON.parse(written)
  return own === modelPrefix + String(value.model) ? modelPrefix + name : name
}

/** An upstream's whole answer as JSON; anything else under a 200 is an unusable answer. */
export function parseAnswer(bytes: Uint8Array): JsonObject {
  let body: Json
  try {
    body = JSON.parse(decoder.decode(bytes)) as Json
  } catch (cause) {
    throw new GatewayError('upstream_bad_response', 'The upstream answered with something that is not JSON.', { cause })
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw new GatewayError('upstream_bad_response', 'The upstream answered with JSON that is not an object.')
  return body
}

/** Accounting must never break an answer that the client could read. */
function tapQuietly(codec: Codec, body: JsonObject): ResponseTap {
  try {
    return codec.tapResponse(body)
  } catch {
    return {}
  }
}

const bytesOf = (events: readonly SseEvent[]): Uint8Array => encoder.encode(encodeAllSse(events))

/** What becomes of an event: the client's as it is, or with the upstream's secrets taken out, or not the client's. */
type Fate = 'pass' | 'redact' | 'drop'

/** Bytes pass untouched, whole events at a time, so that an error event can follow if the rest never comes. */
export function passingStream(
  createTap: () => StreamTap,
  maxEventChars: number,
  redact: (text: string) => string,
  says?: Says,
): AnswerStream {
  const tap = createTap()
  const said = createSaid(says)
  const decoder = createSseDecoder(maxEventChars)
  const cutter = createBlockCutter()
  let ready: Uint8Array[] = []
  /** Shows the tap the events. The fate of each, where not all are the client's as they are: of an error and what is behind it. */
  const look = (events: readonly SseEvent[]): { fates?: Fate[]; broken?: { error: unknown } } => {
    let fates: Fate[] | undefined
    let broken: { error: unknown } | undefined
    for (let at = 0; at < events.length; at++) {
      let fate: Fate = 'drop'
      if (tap.error === undefined && broken === undefined)
        try {
          const event = events[at] as SseEvent
          const keep = tap.push(event)
          said.add(event.data)
          if (tap.error === undefined && tap.failing !== true) fate = 'pass'
          else if (keep) fate = 'redact'
        } catch (error) {
          broken = { error }
        }
      if (fate !== 'pass') fates ??= new Array<Fate>(at).fill('pass')
      fates?.push(fate)
    }
    return { ...(fates === undefined ? {} : { fates }), ...(broken === undefined ? {} : { broken }) }
  }
  return {
    state: tap,
    push(chunk) {
      const events = decoder.push(chunk)
      const whole = cutter.push(chunk)
      const { fates, broken } = look(events)
      if (whole !== undefined)
        ready.push(fates !== undefined ? sortOut(whole, fates, redact) : decoder.bare ? redacted(whole, redact) : whole)
      if (broken !== undefined) throw broken.error
      // What is no event's data (comments, unknown fields) is not counted by the decoder.
      if (whole === undefined && cutter.held > maxEventChars) throw tooLarge()
    },
    end() {
      // An event that lacks only its blank line is the client's; half an event is nobody's.
      if (tap.error !== undefined) return
      const events = decoder.end()
      const { fates, broken } = look(events)
      if (broken !== undefined) throw broken.error
      tap.end?.()
      if (fates !== undefined && decoder.bare) {
        // Clients look for events: an error that is none they would read past.
        ready.push(redacted(bytesOf(tap.error === undefined ? events : tap.fail(tap.error)), redact))
        return
      }
      const rest = events.length > 0 ? cutter.rest() : undefined
      if (rest === undefined || fates?.[0] === 'drop') return
      ready.push(fates === undefined ? rest : redacted(rest, redact))
      ready.push(encoder.encode('\n\n'))
    },
    take() {
      const taken = ready
      ready = []
      return taken.length === 0 ? undefined : concatBytes(taken)
    },
    said: said.tokens,
    heartbeat: () => bytesOf(tap.heartbeat()),
    // It may repeat what the upstream said.
    fail: (error) => redacted(bytesOf(tap.fail(error)), redact),
  }
}

const redacted = (bytes: Uint8Array, redact: (text: string) => string): Uint8Array =>
  encoder.encode(redact(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)))

/** What stands behind an error, or a broken event, is no part of the answer, also if it came in the same chunk. */
function sortOut(bytes: Uint8Array, fates: readonly Fate[], redact: (text: string) => string): Uint8Array {
  const decoder = createSseDecoder(Number.POSITIVE_INFINITY)
  let passed = ''
  let at = 0
  for (const block of splitBlocks(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))) {
    // A comment shares the fate of the event behind it.
    const fate = fates[Math.min(at, fates.length - 1)]
    at += decoder.pushText(block).length
    if (fate !== 'drop') passed += fate === 'pass' ? block : redact(block)
  }
  return encoder.encode(passed)
}

/** The gateway asked the upstream for more than the client did: what is there only for that is taken out again. */
function editingStream(
  tap: StreamTap,
  erase: string | undefined,
  maxEventChars: number,
  redact: (text: string) => string,
  says: Says,
): AnswerStream {
  const said = createSaid(says)
  const cutter = createBlockCutter()
  const decoder = createSseDecoder(maxEventChars)
  const text = new TextDecoder('utf-8', { ignoreBOM: true })
  let ready = ''
  const pass = (block: string, events: readonly SseEvent[]): void => {
    if (tap.error !== undefined) return
    let keep = true
    for (const event of events) {
      said.add(event.data)
      if (!tap.push(event)) keep = false
    }
    const own = tap.error === undefined ? block : redact(block)
    if (keep) ready += erase === undefined ? own : own.replaceAll(erase, '')
  }
  return {
    state: tap,
    push(chunk) {
      const whole = cutter.push(chunk)
      if (whole !== undefined)
        for (const block of splitBlocks(text.decode(whole, { stream: true }))) pass(block, decoder.pushText(block))
      else if (cutter.held > maxEventChars) throw tooLarge()
    },
    end() {
      const rest = cutter.rest()
      const block = rest === undefined ? '' : text.decode(rest)
      const events = [...decoder.pushText(block), ...decoder.end()]
      if (events.length > 0) pass(decoder.bare ? encodeAllSse(events) : `${block}\n\n`, events)
      tap.end?.()
    },
    take() {
      if (ready === '') return undefined
      const bytes = encoder.encode(ready)
      ready = ''
      return bytes
    },
    said: said.tokens,
    heartbeat: () => bytesOf(tap.heartbeat()),
    fail: (error) => bytesOf(tap.fail(error)),
  }
}

/** The text cut behind each blank line, whatever the line ends, also mixed ones. */
function splitBlocks(text: string): string[] {
  if (!text.includes('\r')) {
    const blocks: string[] = []
    let from = 0
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n', from)) {
      blocks.push(text.slice(from, at + 2))
      from = at + 2
    }
    if (from < text.length) blocks.push(text.slice(from))
    return blocks
  }
  return text.split(/(?<=\n\n|\n\r\n|\r\r\n|[\r\n]\r(?!\n))/)
}
