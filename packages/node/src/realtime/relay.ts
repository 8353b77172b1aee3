import type { Duplex } from 'node:stream'
import { GatewayError, type RealtimeEnding, type RealtimeSession } from '@modelgate/core'
import { WebSocket } from 'ws'
import { maxUnansweredPings, WatchedSocketClient } from './watched-socket-client.ts'

/** Buffered bytes for a slow side above which the other side is paused, and below which it is resumed. */
const highWater = 1024 * 1024
const lowWater = 256 * 1024

const goingAway = 1001
const internalError = 1011

interface Side {
  readonly socket: WebSocket
  /** The error that preceded the close of its socket. */
  error: (Error & { code?: string }) | undefined
  /** Pings since its last message. A count, not a time: after a pause of the process no side must count as dead. */
  unansweredPings: number
}

/**
 * Returns what the other side receives for a message; undefined for nothing.
 *
 * @param resume reads the message's side again, after a pause
 */
type MessageReader = (data: Buffer, isBinary: boolean, resume: () => void) => Buffer | string | undefined

const sideOf = (socket: WebSocket): Side => ({ socket, error: undefined, unansweredPings: 0 })

/**
 * Relays messages both ways until one side closes, then closes the other with the same code and reason. Each side is read no faster
 * than the other one receives. Settles the session once, when both sockets are closed.
 *
 * @param connection the socket below the client's WebSocket
 */
export function relay(clientSocket: WebSocket, session: RealtimeSession<WebSocket>, connection: Duplex): void {
  const client = sideOf(clientSocket)
  const upstream = sideOf(session.upstream)
  let ending: RealtimeEnding | undefined
  let openSockets = 2
  let isFirst = true

  const { readClient, readsBinary } = session

  const readFromUpstream: MessageReader = (data, isBinary) => {
    if (isBinary && !readsBinary) return data
    if (isFirst) {
      isFirst = false
      session.begun()
    }
    if (session.passesUnread(data)) return data
    const text = data.toString()
    const replaced = session.readUpstream(text)
    return replaced === text ? data : replaced
  }

  const readFromClient: MessageReader = (data, isBinary, resume) => {
    if (readClient === undefined) return data
    const text = data.toString()
    const read = readClient(text, isBinary)
    if ('forward' in read) return read.forward === text ? data : read.forward
    if ('close' in read) {
      const { event, code, reason } = read.close
      end(
        { outcome: 'failed', error: new GatewayError('invalid_request', reason) },
        () => {
          if (event !== undefined) clientSocket.send(event)
          clientSocket.close(code, reason)
        },
        () => upstream.socket.close(goingAway),
      )
      return undefined
    }
    // Paused until the reply is sent, so that a client that never reads cannot fill the memory with replies.
    clientSocket.pause()
    clientSocket.send(read.reply, resume)
    return undefined
  }

  const relayMessages = (from: Side, to: Side, read: MessageReader): void => {
    const { socket } = from
    const resume = (): void => {
      if (!socket.isPaused || to.socket.bufferedAmount > lowWater) return
      from.unansweredPings = 0
      socket.resume()
    }
    socket.on('message', (data: Buffer, isBinary) => {
      from.unansweredPings = 0
      idleTimer.refresh()
      // Read even if the other side is closed, because the usage in it counts.
      const outgoing = read(data, isBinary, resume)
      if (outgoing === undefined) return
      if (to.socket.readyState !== WebSocket.OPEN) return
      to.socket.send(outgoing, { binary: isBinary }, resume)
      if (to.socket.bufferedAmount > highWater) socket.pause()
    })
  }

  /** Ends the session. A side without a function is closed or has sent its close frame. */
  const end = (how: RealtimeEnding, toClient?: () => void, toUpstream?: () => void): void => {
    if (ending !== undefined) return
    ending = how
    clearTimeout(idleTimer)
    clearInterval(heartbeat)
    clientWatch.stop()
    session.signal.removeEventListener('abort', onAbort)
    toClient?.()
    toUpstream?.()
    // A paused socket would not receive the close frame of its peer.
    client.socket.resume()
    upstream.socket.resume()
  }

  const endBoth = (error: GatewayError, reason: string): void =>
    end(
      { outcome: 'failed', error },
      () => client.socket.close(goingAway, reason),
      () => upstream.socket.close(goingAway),
    )

  const idleTimer = setTimeout(() => {
    const text = `No message arrived for ${session.idleMs / 1000} s.`
    endBoth(new GatewayError('timeout', text), text)
  }, session.idleMs)

  // No other limit ends a session whose client sends but does not read.
  const clientWatch = new WatchedSocketClient(clientSocket, connection, session.clientStallMs, () => {
    const text = `The client read nothing for ${session.clientStallMs / 1000} s (limits.clientStallMs); its connection was closed.`
    end(
      { outcome: 'aborted', error: new GatewayError('cancelled', text, { code: 'client_stalled' }) },
      () => client.socket.terminate(),
      () => upstream.socket.close(goingAway),
    )
  })

  const heartbeat = setInterval(() => {
    for (const side of [client, upstream]) {
      const { socket } = side
      // Pongs of a paused socket are not received, and the idle limit covers a socket that does not drain.
      if (socket.readyState !== WebSocket.OPEN || socket.isPaused || socket.bufferedAmount > 0) continue
      if (side.unansweredPings === maxUnansweredPings) socket.terminate()
      else {
        side.unansweredPings++
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
      const isProtocolError = error?.code?.startsWith('WS_ERR_') === true
      end(
        isProtocolError
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
      const isNormal = code === 1000 || code === 1001 || code === 1005
      end(
        isNormal
          ? { outcome: 'finished' }
          : {
              outcome: 'failed',
              error: new GatewayError('upstream_error', `The upstream closed the session with the code ${code}.`),
            },
        () => closeWith(client.socket, code, session.closeReason(reason.toString())),
      )
      return
    }
    const tooLarge = error?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
    const text = tooLarge
      ? `The upstream sent a message larger than the limit of ${session.messageBytes} bytes.`
      : 'The connection to the upstream was lost.'
    end(
      {
        outcome: 'failed',
        error: new GatewayError(tooLarge ? 'upstream_bad_response' : 'upstream_truncated', text, { cause: error }),
      },
      () => client.socket.close(internalError, text),
    )
  }

  const onClosed = (): void => {
    openSockets--
    if (openSockets === 0) session.settle(ending ?? { outcome: 'aborted' })
  }

  for (const side of [client, upstream]) {
    const { socket } = side
    const onSignOfLife = (): void => {
      side.unansweredPings = 0
    }
    socket.on('ping', onSignOfLife)
    socket.on('pong', onSignOfLife)
    socket.on('error', (error) => {
      side.error = error
    })
  }
  client.socket.on('close', onClientClose).on('close', onClosed)
  upstream.socket.on('close', onUpstreamClose).on('close', onClosed)
  relayMessages(client, upstream, readFromClient)
  relayMessages(upstream, client, readFromUpstream)
  void session.cut.then(({ closing: { event, code, reason }, ending: how }) =>
    end(
      how,
      () => {
        if (event !== undefined) clientSocket.send(event)
        clientSocket.close(code, reason)
      },
      () => upstream.socket.close(goingAway),
    ),
  )
  session.signal.addEventListener('abort', onAbort)
  if (session.signal.aborted) onAbort()
  // Both were paused until here. A socket that has closed meanwhile now emits its close event.
  client.socket.resume()
  upstream.socket.resume()
}

/** Forwards a close. 1005 means a close frame without a code; every other received code may be sent. */
function closeWith(socket: WebSocket, code: number, reason: string): void {
  if (code === 1005) socket.close()
  else socket.close(code, reason)
}
