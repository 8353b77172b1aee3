import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { GatewayError, type RealtimeEnding, type RealtimeSession } from '@modelgate/core'
import { WebSocket } from 'ws'
import { bytesTaken, WatchedClient } from './client-watch.ts'

/** Bytes that may wait for a slow side before the other one is no longer read, and where it is read again. */
const highWater = 1024 * 1024
const lowWater = 256 * 1024
/** Pings in a row that may stay without any sign of life before a side counts as gone. */
const unansweredPings = 4

const goingAway = 1001
const internalError = 1011

interface Side {
  readonly socket: WebSocket
  /** Its own socket's failure, where that is known before it closes. */
  error: (Error & { code?: string }) | undefined
  /** Pings sent since it was last heard. Counted, not timed: a process that slept must not think everybody dead. */
  unanswered: number
}

const sideOf = (socket: WebSocket): Side => ({ socket, error: undefined, unanswered: 0 })

/**
 * Carries messages both ways until one side closes, then closes the other with its code and reason. Each side is read no
 * faster than the other one takes it. Settles once, when both sockets are gone.
 *
 * @param connection the client's, below its WebSocket
 */
export function relay(clientSocket: WebSocket, session: RealtimeSession<WebSocket>, connection: Duplex): void {
  const client = sideOf(clientSocket)
  const upstream = sideOf(session.upstream)
  let ending: RealtimeEnding | undefined
  let open = 2
  let first = true

  const tapped = (data: Buffer): Buffer | string => {
    if (first) {
      first = false
      session.begun()
    }
    if (session.passesUnread(data)) return data
    const text = data.toString()
    const told = session.readUpstream(text)
    return told === text ? data : told
  }

  const { checkClient } = session

  const carry = (from: Side, to: Side, read?: (data: Buffer) => Buffer | string): void => {
    const { socket } = from
    const resume = (): void => {
      if (!socket.isPaused || to.socket.bufferedAmount > lowWater) return
      from.unanswered = 0
      socket.resume()
    }
    socket.on('message', (data: Buffer, isBinary) => {
      from.unanswered = 0
      idle.refresh()
      const refusal = from === client ? checkClient?.(data.toString(), isBinary) : undefined
      if (refusal !== undefined) {
        // Not read until it has the answer: a client that only sends must not fill the memory with refusals.
        socket.pause()
        socket.send(refusal, resume)
        return
      }
      // Read also when nobody is there to get it any more: what was used is used.
      const told = isBinary || read === undefined ? data : read(data)
      if (to.socket.readyState !== WebSocket.OPEN) return
      to.socket.send(told, { binary: isBinary }, resume)
      if (to.socket.bufferedAmount > highWater) socket.pause()
    })
  }

  /** Closes what is still open. The side that is told nothing has told us, or is gone. */
  const end = (how: RealtimeEnding, toClient?: () => void, toUpstream?: () => void): void => {
    if (ending !== undefined) return
    ending = how
    clearTimeout(idle)
    clearInterval(heartbeat)
    reader.stop()
    session.signal.removeEventListener('abort', onAbort)
    toClient?.()
    toUpstream?.()
    // A paused socket would never see the other's close frame.
    client.socket.resume()
    upstream.socket.resume()
  }

  const endBoth = (error: GatewayError, reason: string): void =>
    end(
      { outcome: 'failed', error },
      () => client.socket.close(goingAway, reason),
      () => upstream.socket.close(goingAway),
    )

  const idle = setTimeout(() => {
    const text = `No message came for ${session.idleMs / 1000} s.`
    endBoth(new GatewayError('timeout', text), text)
  }, session.idleMs)

  // Other limits do not end a session whose client sends but does not read.
  const reader = new SessionReader(clientSocket, connection, session.clientStallMs, () => {
    const text = `The client took nothing for ${session.clientStallMs / 1000} s (limits.clientStallMs); its connection was closed.`
    end(
      { outcome: 'aborted', error: new GatewayError('cancelled', text, { code: 'client_stalled' }) },
      () => client.socket.terminate(),
      () => upstream.socket.close(goingAway),
    )
  })

  const heartbeat = setInterval(() => {
    for (const side of [client, upstream]) {
      const { socket } = side
      // What is not read cannot be heard, and what does not drain is the idle limit's business.
      if (socket.readyState !== WebSocket.OPEN || socket.isPaused || socket.bufferedAmount > 0) continue
      if (side.unanswered === unansweredPings) socket.terminate()
      else {
        side.unanswered++
        socket.ping()
      }
    }
  }, session.heartbeatMs)

  const onAbort = (): void => {
    const { reason } = session.signal
    const error = reason instanceof GatewayError ? reason : new GatewayError('overloaded', 'The gateway has stopped.')
    endBoth(error, 'The gateway is shutting down.')
  }

  const onClientClose = (code: number, reason: Buffer): void => {
    const { error } = client
    if (code !== 1006)
      end({ outcome: 'finished' }, undefined, () => closeWith(upstream.socket, code, reason.toString()))
    else {
      const broken = error?.code?.startsWith('WS_ERR_') === true
      end(
        broken
          ? { outcome: 'failed', error: new GatewayError('invalid_request', error.message, { cause: error }) }
          : { outcome: 'aborted' },
        undefined,
        () => upstream.socket.close(goingAway),
      )
    }
  }

  const onUpstreamClose = (code: number, reason: Buffer): void => {
    const { error } = upstream
    if (code !== 1006) {
      const good = code === 1000 || code === 1001 || code === 1005
      end(
        good
          ? { outcome: 'finished' }
          : { outcome: 'failed', error: new GatewayError('upstream_error', `The upstream closed with ${code}.`) },
        () => closeWith(client.socket, code, session.closeReason(reason.toString())),
      )
      return
    }
    const tooLarge = error?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
    const text = tooLarge
      ? `The upstream sent a message larger than the limit of ${session.messageBytes} bytes.`
      : 'The connection to the upstream broke.'
    end(
      {
        outcome: 'failed',
        error: new GatewayError(tooLarge ? 'upstream_bad_response' : 'upstream_truncated', text, { cause: error }),
      },
      () => client.socket.close(internalError, text),
    )
  }

  const gone = (): void => {
    open--
    if (open === 0) session.settle(ending ?? { outcome: 'aborted' })
  }

  for (const side of [client, upstream]) {
    const { socket } = side
    const heard = (): void => {
      side.unanswered = 0
    }
    socket.on('ping', heard)
    socket.on('pong', heard)
    socket.on('error', (error) => {
      side.error = error
    })
  }
  client.socket.on('close', onClientClose).on('close', gone)
  upstream.socket.on('close', onUpstreamClose).on('close', gone)
  carry(client, upstream)
  carry(upstream, client, tapped)
  session.signal.addEventListener('abort', onAbort)
  if (session.signal.aborted) onAbort()
  // Both were held until here; one that has closed meanwhile says so now.
  client.socket.resume()
  upstream.socket.resume()
}

/** Passes a close on. 1005 stands for a close frame without a code; no other code that is received may not be sent. */
function closeWith(socket: WebSocket, code: number, reason: string): void {
  if (code === 1005) socket.close()
  else socket.close(code, reason)
}

/** The client of a session, watched whether it takes its messages. */
class SessionReader extends WatchedClient {
  readonly #client: WebSocket
  readonly #connection: Duplex
  readonly #stalled: () => void

  constructor(client: WebSocket, connection: Duplex, stallMs: number, stalled: () => void) {
    super()
    this.#client = client
    this.#connection = connection
    this.#stalled = stalled
    this.watch(stallMs)
  }

  stop(): void {
    this.unwatch()
  }

  protected unread(): number {
    return this.#client.bufferedAmount
  }

  protected taken(): number {
    return this.#connection instanceof Socket ? bytesTaken(this.#connection) : -this.#client.bufferedAmount
  }

  protected onStalled(): void {
    this.#stalled()
  }
}
