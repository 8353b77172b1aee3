import { GatewayError } from '../../base/errors.ts'
import { foldName, isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { type ModelPlaces, type PlaceSpan, visitValue } from '../../formats/shared/model-places.ts'
import { notJson, parse, realtimePlaces } from './messages.ts'

/** How the messages of a client name the model of their session. */
export interface ModelNaming {
  /** All members that name a model. */
  readonly places: ModelPlaces
  /** Paths of the members that name the session's model. */
  readonly own: ReadonlySet<string>
  /** The member to use, for error messages. */
  readonly member: string
  /** Beginning of names in messages, which the gateway's names lack. */
  readonly prefix: string
  /** Rejects further messages. Throws GatewayError. Default: accepts all. */
  check?(event: Json, text: string): void
  /**
   * Returns a later message for the upstream. It may name the session's model only.
   *
   * @throws GatewayError if it names another model
   */
  writeLater(text: string, isBinary: boolean, model: string, upstreamModel: string): string
}

/** The names of a session's model in a message. */
interface OwnNames {
  /** Undefined: the message does not name it. */
  readonly name: string | undefined
  readonly spans: readonly PlaceSpan[]
}

/** Finds the names of the session's model. Throws GatewayError for invalid JSON, for different names, and for names of further models. */
function ownNames(text: string, { places, own, member, prefix, check }: ModelNaming): OwnNames {
  const event = parse(text)
  if (event === undefined) throw notJson()
  check?.(event, text)
  let found: string | undefined
  const spans: PlaceSpan[] = []
  visitValue(text, places.root, {
    name(given, path, span) {
      if (!own.has(path)) throw rejected(`'${path}' names a model, but the session's only model is '${member}'.`, path)
      const name = given.startsWith(prefix) ? given.slice(prefix.length) : given
      if (found !== undefined && found !== name) throw rejected(`The message names two models. Use '${member}'.`, path)
      found = name
      if (span !== undefined) spans.push(span)
    },
    choice() {},
  })
  return { name: found, spans }
}

const rejected = (message: string, param: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

/** A client's first message. */
export interface FirstMessage {
  readonly model: string
  /** Returns the message for an upstream. */
  write(upstreamModel: string): string
}

/**
 * Reads the model of a session from the client's first message.
 *
 * @throws GatewayError if the message does not name one
 */
export function readFirstMessage(text: string, naming: ModelNaming): FirstMessage {
  const { name, spans } = ownNames(text, naming)
  const { member } = naming
  if (name === undefined || name === '')
    throw rejected(`The first message must name the model: set '${member}'.`, member)
  return { model: name, write: (upstreamModel) => replaceNames(text, spans, naming.prefix + upstreamModel) }
}

function replaceNames(text: string, spans: readonly PlaceSpan[], name: string): string {
  let out = ''
  let from = 0
  for (const { start, end } of spans) {
    out += text.slice(from, start) + JSON.stringify(name)
    from = end
  }
  return out + text.slice(from)
}

/** Returns whether a message may have a member of this name: most messages are audio without it. An escape may hide a letter. */
const mayHaveMember = (text: string, name: RegExp): boolean => name.test(text) || text.includes('\\')

/** Each update of a transcription session repeats its model. */
export const transcriptionNaming: ModelNaming = {
  places: realtimePlaces,
  own: new Set(['session.audio.input.transcription.model', 'session.input_audio_transcription.model']),
  member: 'session.audio.input.transcription.model',
  prefix: '',
  check: rejectVoice,
  writeLater(text, isBinary, model, upstreamModel) {
    if (!mayHaveMember(text, /model|realtime|response\./i)) return text
    if (isBinary && parse(text) === undefined && !/model/i.test(text)) return text
    const { name, spans } = ownNames(text, transcriptionNaming)
    if (name === undefined) return text
    if (name !== model)
      throw new GatewayError(
        'invalid_request',
        `This session transcribes with '${model.slice(0, 100)}'. Open another session for another model.`,
        { param: transcriptionNaming.member },
      )
    return replaceNames(text, spans, upstreamModel)
  },
}

/** Rejects a message that would turn a transcription session into one with a voice model: the gateway would not have checked that model. */
function rejectVoice(event: Json): void {
  if (!isObject(event)) return
  // A parser that ignores case would read another spelling.
  const valuesOf = (object: JsonObject, name: string): Json[] =>
    Object.entries(object).flatMap(([key, value]) => (foldName(key) === name ? [value] : []))
  for (const type of valuesOf(event, 'type'))
    if (typeof type === 'string' && /^response\./i.test(type))
      throw rejected('This is a transcription session: it generates no responses.', 'type')
  for (const session of valuesOf(event, 'session'))
    if (isObject(session) && valuesOf(session, 'type').some((type) => type !== 'transcription'))
      throw rejected("This is a transcription session: set 'session.type' to 'transcription'.", 'session.type')
}
