import type { GatewayError } from '../../base/errors.ts'
import type { SharedFormat } from '../../base/names.ts'
import type { ClientMessage, RealtimeClosing } from '../../config/realtime.ts'
import type { ReferencePolicy } from '../../config/references.ts'
import type { ModelPlaces } from '../../formats/shared/model-places.ts'
import { type Inbound, offeredProtocols } from '../../http/inbound.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import { liveNaming, livePlaces, liveUsage } from './live.ts'
import { closeReason, errorEvent, type MessageCheck, realtimePlaces } from './messages.ts'
import { type ModelNaming, transcriptionNaming } from './naming.ts'
import { storedStateCheck } from './stored-state.ts'
import { responseUsage, transcriptionUsage, type UsageReader } from './usage.ts'

/** A kind of sessions. */
export type SessionKindName = 'voice' | 'transcription' | 'live'

/** The facts about a kind of sessions. */
export interface SessionKind {
  /** Its name in error messages. */
  readonly label: string
  /** Format of HTTP errors of its upstreams. */
  readonly errors: SharedFormat
  /** Returns the path of its WebSocket at an upstream; undefined: the upstream has none. */
  path(upstream: Upstream): string | undefined
  /** Returns the query for the upstream, without its question mark. */
  query(model: string): string
  /** Returns the client's headers for the upstream. */
  headers(inbound: Inbound): Readonly<Record<string, string>>
  /** Members of the client's messages that name a model. */
  readonly places: ModelPlaces
  /** Absent: only the query names the session's model. */
  readonly naming?: ModelNaming
  /** Returns the check of references to stored state in the client's messages. Absent: `naming` checks them. */
  checkStoredState?(policy: ReferencePolicy): MessageCheck | undefined
  /** Binary messages of the upstream hold JSON. */
  readonly readsBinary: boolean
  /** Returns whether a message of the upstream is a model's content, and can be sent unread. */
  isContent(message: Uint8Array): boolean
  readonly usage: UsageReader
  /** Returns how the client learns that its message was rejected. */
  reject(error: GatewayError, message: string): ClientMessage
  /** Returns how a client is closed whose session did not open. */
  close(error: GatewayError, message: string): RealtimeClosing
}

/** The close code of a gateway that shuts down. */
export const goingAway = 1001
const invalidData = 1007
const policyViolation = 1008
const internalError = 1011

/** Clients of WebSockets see no HTTP status: a code states whether the client or the server is at fault. */
const closeCode = ({ info: { status } }: GatewayError): number => (status < 500 ? policyViolation : internalError)

const betaPrefix = 'openai-beta.'

/** Returns the header `OpenAI-Beta`. Browsers send it as a subprotocol: `openai-beta.realtime-v1`. */
function betaHeader(inbound: Inbound): string | undefined {
  const header = inbound.header('openai-beta')
  if (header !== undefined) return header
  return offeredProtocols(inbound)
    .find((name) => name.startsWith(betaPrefix))
    ?.slice(betaPrefix.length)
    .replace('-', '=')
}

/** Deltas of at least this length, in bytes, are audio: decoding them would cost more than passing them on. */
const longDelta = 2048
const decoder = new TextDecoder()

/** Returns whether a message is a delta, by its type, which is at its beginning. */
const isDelta = (message: Uint8Array): boolean =>
  /"type"\s*:\s*"[\w.]+\.delta"/.test(decoder.decode(message.subarray(0, 256)))

/** Facts that OpenAI's kinds share. */
const openai = {
  errors: 'chat',
  places: realtimePlaces,
  checkStoredState: storedStateCheck,
  readsBinary: false,
  headers(inbound) {
    const beta = betaHeader(inbound)
    return beta === undefined ? {} : { 'openai-beta': beta }
  },
  isContent: (message) => message.length >= longDelta && isDelta(message),
  reject: (error, message) => ({ reply: errorEvent(error, message) }),
  close: (error, message) => ({
    event: errorEvent(error, message),
    code: closeCode(error),
    reason: closeReason(error.info.message),
  }),
} as const satisfies Partial<SessionKind>

/** All kinds of sessions. */
export const sessionKinds: Readonly<Record<SessionKindName, SessionKind>> = {
  voice: {
    ...openai,
    label: 'realtime',
    path: ({ realtime }) => realtime,
    query: (model) => new URLSearchParams({ model }).toString(),
    usage: responseUsage,
  },
  transcription: {
    ...openai,
    label: 'realtime transcription',
    // A model in the URL opens a session with a voice.
    path: ({ realtime }) => (realtime?.includes('{') ? undefined : realtime),
    query: () => 'intent=transcription',
    naming: transcriptionNaming,
    usage: transcriptionUsage,
  },
  live: {
    label: 'the Live API',
    errors: 'gemini',
    path: ({ live }) => live,
    query: () => '',
    headers: () => ({}),
    places: livePlaces,
    naming: liveNaming,
    readsBinary: true,
    // A message with audio may have the usage too.
    isContent: () => false,
    usage: liveUsage,
    reject: ({ info: { message } }) => ({ close: { code: invalidData, reason: closeReason(message) } }),
    close: (error) => ({ code: closeCode(error), reason: closeReason(error.info.message) }),
  },
}
