import { maxTimerMs } from '../base/async.ts'

/**
 * Size and time limits of a call. They apply to all calls; a target can replace some of them (`TargetLimits`).
 *
 * @example { bodyBytes: 8 * 1024 * 1024, firstByteMs: 60_000, totalMs: 300_000 }
 */
export interface Limits {
  /** Largest request body in bytes; larger ones receive 413. Default: 32 MiB. */
  bodyBytes?: number
  /**
   * Largest upload (multipart body) in bytes; larger ones receive 413. If the server can store uploads only in memory (every adapter
   * except those for Node), `bodyBytes` applies instead. Default: 512 MiB.
   */
  uploadBytes?: number
  /**
   * Largest number of values and names in a JSON body: objects, lists, their members and elements. Larger bodies receive 400: to parse
   * millions of values blocks all other calls, however small they are. Default: 350,000, more than the tokens of the largest embeddings
   * call.
   */
  values?: number
  /** Deepest nesting of a JSON body; deeper ones receive 400. Default: 128. */
  depth?: number
  /** Milliseconds until a streaming call without an upstream event gets the status 200 and heartbeats. Default: 30 seconds. */
  holdMs?: number
  /** Milliseconds until the response, or a stream's first event, must have begun; else 504. Default: 10 minutes. */
  firstByteMs?: number
  /**
   * Longest silence of an upstream within a response, in milliseconds; then the call ends with an error. Comments of an event stream
   * count as silence. Default: 5 minutes.
   */
  idleMs?: number
  /** Longest duration of an upstream call in milliseconds, including its stream, even if the client does not read. Default: no limit. */
  totalMs?: number
  /**
   * Milliseconds for which a client may read nothing while bytes of its response are pending. Then the call ends as aborted, and both
   * connections are closed. Also applies to realtime sessions. Default: 5 minutes.
   */
  clientStallMs?: number
  /**
   * Milliseconds for which a promise of the host's functions is awaited: `auth`, `admit` of a plugin, `explain`, `media.allows`,
   * `tokenizer`, and each call of a response store and of a spool. Default: 30 seconds, which is longer than a slow database needs, and
   * shorter than clients and proxies wait.
   */
  callbackMs?: number
  /** Milliseconds of silence towards the client until a heartbeat is sent. Default: 14 seconds. */
  heartbeatMs?: number
  /**
   * Largest JSON response of an upstream, and largest single event of a stream, in bytes. The last event of a stream that is translated
   * for a responses client repeats the whole response, so this also limits that response. Default: 64 MiB.
   */
  answerBytes?: number
  /** Milliseconds without a message from either side until a realtime session is closed (1001). Default: 15 minutes. */
  realtimeIdleMs?: number
  /** Largest message of a realtime session in bytes, in both directions; larger ones close it (1009). Default: 16 MiB. */
  realtimeMessageBytes?: number
  /**
   * Largest size of all conversations together that WebSockets of `/v1/responses` keep for `previous_response_id` without `store`, in
   * characters. The oldest are dropped first; the largest may have half of it. Read when the first such WebSocket opens. Default: 64 Mi.
   */
  socketStateChars?: number
}

/** Time limits of one target in milliseconds, each greater than 0. Default of each, unless stated: the gateway's limit. */
export interface TargetLimits {
  /**
   * Time limit for the connection (504 `upstream_connect_timeout`). Enforced by transports that can, such as that of the Node adapters.
   * Default: the transport's own, 10 seconds on Node.
   */
  connectMs?: number
  /** Time until the response, or a stream's first event, must have begun (504 `upstream_timeout`). */
  firstByteMs?: number
  /**
   * Longest silence within a response (502 `upstream_idle_timeout`, or an error within the stream). Comments of an event stream count as
   * silence.
   */
  idleMs?: number
  /** Longest duration of a call, including its stream (504 `upstream_total_timeout`). */
  totalMs?: number
}

/** Defaults of `limits`. */
export const defaultLimits: Required<Limits> = {
  bodyBytes: 32 * 1024 * 1024,
  uploadBytes: 512 * 1024 * 1024,
  depth: 128,
  values: 350_000,
  holdMs: 30_000,
  firstByteMs: 600_000,
  idleMs: 300_000,
  totalMs: maxTimerMs,
  clientStallMs: 300_000,
  callbackMs: 30_000,
  // A heartbeat is documented for every 15 s, and timers never fire early.
  heartbeatMs: 14_000,
  answerBytes: 64 * 1024 * 1024,
  realtimeIdleMs: 900_000,
  realtimeMessageBytes: 16 * 1024 * 1024,
  socketStateChars: 64 * 1024 * 1024,
}

/** Returns the limits in force: defaults for undefined ones, and the longest possible timer for infinite times. */
export function resolveLimits(limits: Limits = {}): Required<Limits> {
  const all = { ...defaultLimits }
  for (const name of Object.keys(defaultLimits) as (keyof Limits)[]) {
    const value = limits[name]
    if (value !== undefined) all[name] = name.endsWith('Ms') ? Math.min(value, maxTimerMs) : value
  }
  return all
}
