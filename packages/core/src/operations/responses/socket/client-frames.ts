import { GatewayError, tooManyValues } from '../../../base/errors.ts'
import { isObject, type Json, type JsonObject, type Member, scanJson } from '../../../base/json/json.ts'

/** A `response.create` message: the request of one call. */
export interface CreateFrame {
  readonly type: 'create'
  /** The client's name of the lane. Undefined: the default lane. */
  readonly streamId: string | undefined
  /** The message as received. */
  readonly bytes: Uint8Array
  /** False: the client only prepares the next request (`generate: false`). */
  readonly generates: boolean
  readonly previousResponseId: string | undefined
}

/** A message of the client. */
export type ClientFrame =
  | CreateFrame
  /** User input for a running response. */
  | { readonly type: 'steer'; readonly event: JsonObject }
  /** A receipt, which needs no response. */
  | { readonly type: 'receipt' }

/** The error of a message, with the lane that it names. */
export class FrameError extends Error {
  readonly error: GatewayError
  readonly streamId: string | undefined

  constructor(error: GatewayError, streamId?: string) {
    super(error.message)
    this.error = error
    this.streamId = streamId
  }
}

/** Members of a message that belong to the connection, and not to the request of the call. */
export const connectionMembers: readonly string[] = ['type', 'stream_id', 'generate', 'stream']

const streamIdShape = /^[\w.-]{1,256}$/

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the members of a message that the connection needs. The call that follows parses and validates the whole message.
 *
 * @throws FrameError for a message that is not the beginning of a call
 */
export function readClientFrame(bytes: Uint8Array, limits: { depth: number; values: number }): ClientFrame {
  const text = decode(bytes)
  const { tooDeep, tooMany, members } = scanJson(text, limits.depth, limits.values)
  if (tooDeep) throw invalid(`The message is nested deeper than ${limits.depth} levels.`)
  if (tooMany) throw new FrameError(tooManyValues(limits.values))
  const streamId = streamIdOf(memberOf('stream_id'))
  const type = memberOf('type')
  switch (type) {
    case 'response.create':
      checkTransportFields(memberOf, streamId)
      return {
        type: 'create',
        streamId,
        bytes,
        generates: memberOf('generate') !== false,
        previousResponseId: textOrUndefined(memberOf('previous_response_id')),
      }
    case 'response.steer': {
      const event = parse(text)
      return { type: 'steer', event: isObject(event) ? event : {} }
    }
    // Sent by some versions of Codex after each response.
    case 'response.processed':
      return { type: 'receipt' }
    default:
      // The reason may be a message that is no JSON.
      if (!isObject(parse(text))) throw invalid('The message is not a JSON object.')
      throw invalid(
        type === undefined
          ? "type: the message has no type. Send 'response.create'."
          : `Unknown message type ${JSON.stringify(type).slice(0, 100)}. Send 'response.create'.`,
        { param: 'type', streamId },
      )
  }

  /** Returns the value of a top-level member: the last one of several, as JSON parsers do. */
  function memberOf(key: string): Json | undefined {
    const member: Member | undefined = members.findLast((one) => one.key === key)
    return member === undefined ? undefined : parse(text.slice(member.start, member.end))
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw invalid('The message is not valid UTF-8.')
  }
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw invalid('We could not parse the JSON of your message: it is not valid JSON.')
  }
}

function streamIdOf(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' && streamIdShape.test(value)) return value
  throw invalid(
    'stream_id must be a string of 1 to 256 letters, digits, underscores, hyphens and periods. Leave it out for the default lane.',
    { param: 'stream_id', code: 'invalid_stream_id' },
  )
}

/** Rejects fields that ask for another transport. */
function checkTransportFields(memberOf: (key: string) => Json | undefined, streamId: string | undefined): void {
  if (memberOf('stream') === false)
    throw invalid('stream: responses over a WebSocket are always streamed. Leave the field out.', {
      param: 'stream',
      streamId,
    })
  if (memberOf('background') === true)
    throw invalid('background: a WebSocket does not support background responses. Send the request by POST.', {
      param: 'background',
      streamId,
    })
}

const textOrUndefined = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

interface InvalidFrame {
  readonly param?: string
  readonly code?: string
  readonly streamId?: string | undefined
}

const invalid = (message: string, { streamId, ...details }: InvalidFrame = {}): FrameError =>
  new FrameError(new GatewayError('invalid_request', message, details), streamId)
