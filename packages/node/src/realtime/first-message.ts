import type { Duplex } from 'node:stream'
import { type Canceller, GatewayError, type PendingSession, type RealtimeClosing } from '@modelgate/core'
import { WebSocket } from 'ws'
import { relay } from './relay.ts'

/** The close code of a message that is too large. */
const messageTooBig = 1009

/** The error of a client that disconnects before its session is open. */
export const clientLeft = (): GatewayError =>
  new GatewayError('cancelled', 'The client disconnected before the session was open.')

/**
 * Waits for the first message of an accepted client, connects to the upstream that it asks for, then relays messages both ways.
 *
 * @param left the signal of the client's `Inbound`, to abort when the client disconnects
 * @param connection the socket below the client's WebSocket
 */
export function connectFirst(
  client: WebSocket,
  pending: PendingSession<WebSocket>,
  left: Canceller,
  connection: Duplex,
): void {
  /** Messages that were received together with the first one. Bounded, because the paused client is not read further. */
  const later: { readonly data: Buffer; readonly isBinary: boolean }[] = []
  let isWaiting = true

  const stop = (): void => {
    isWaiting = false
    clearTimeout(timer)
    connection.off('data', countBytes)
    pending.signal.removeEventListener('abort', onAbort)
  }
  const fail = (error: GatewayError): void => {
    stop()
    close(client, pending.fail(error))
  }
  const timer = setTimeout(() => {
    const seconds = pending.firstMessageMs / 1000
    fail(new GatewayError('timeout', `No message that names the model arrived within ${seconds} s.`))
  }, pending.firstMessageMs)
  /** Bytes of messages that have arrived, complete or not. `ws` has one limit for all messages of a socket. */
  let received = 0
  const countBytes = (chunk: Buffer): void => {
    received += chunk.length
    if (!isWaiting || received <= pending.firstMessageBytes) return
    stop()
    const error = new GatewayError(
      'request_too_large',
      `The first message is larger than ${pending.firstMessageBytes} bytes.`,
    )
    close(client, { ...pending.fail(error), code: messageTooBig })
    // Reads no more of the message. The socket is destroyed when the closing handshake times out.
    client.pause()
  }
  const onAbort = (): void => {
    const { reason } = pending.signal
    fail(reason instanceof GatewayError ? reason : new GatewayError('overloaded', 'The gateway has stopped.'))
  }

  const connect = async (data: Buffer, isBinary: boolean): Promise<void> => {
    const result = await pending.connect(data.toString(), isBinary)
    client.off('message', onMessage).off('close', onClose).off('error', ignore)
    if ('closing' in result) {
      client.on('error', ignore)
      close(client, result.closing)
      return
    }
    const { session, first } = result
    if (client.readyState !== WebSocket.OPEN) {
      client.on('error', ignore)
      session.upstream.on('error', ignore).terminate()
      session.settle({ outcome: 'aborted' })
      return
    }
    session.upstream.send(first, { binary: isBinary })
    relay(client, session, connection)
    for (const message of later) client.emit('message', message.data, message.isBinary)
  }

  const onMessage = (data: Buffer, isBinary: boolean): void => {
    client.pause()
    if (!isWaiting) {
      later.push({ data, isBinary })
      return
    }
    stop()
    void connect(data, isBinary)
  }
  const onClose = (): void => {
    if (isWaiting) fail(clientLeft())
    else left.abort(clientLeft())
  }
  // A message that breaks the protocol, or is too large: the WebSocket closes with the code that belongs to it.
  const ignore = (): void => {}

  client.on('message', onMessage).on('close', onClose).on('error', ignore)
  connection.on('data', countBytes)
  pending.signal.addEventListener('abort', onAbort)
  if (pending.signal.aborted) onAbort()
  // The connection was paused while the client waited.
  else client.resume()
}

function close(client: WebSocket, { event, code, reason }: RealtimeClosing): void {
  if (event !== undefined && client.readyState === WebSocket.OPEN) client.send(event)
  client.close(code, reason)
  // A paused socket would not receive the close frame of its peer.
  client.resume()
}
