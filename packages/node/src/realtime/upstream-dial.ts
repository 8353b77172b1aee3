import type { RealtimeTransport, UpstreamDial } from '@modelgate/core'
import { WebSocket } from 'ws'
import { maxUnansweredPings } from './watched-socket-client.ts'

/** Creates the function that opens WebSockets to upstreams for responses. An upstream that answers no pings is disconnected. */
export const createUpstreamDial =
  (dial: RealtimeTransport<WebSocket>): UpstreamDial =>
  async ({ heartbeatMs, onMessage, onClose, ...request }) => {
    const dialed = await dial(request)
    if ('refusal' in dialed) {
      dialed.refusal.discard()
      return undefined
    }
    const { socket } = dialed
    /** Pings since the upstream's last sign of life. A count, not a time: after a pause of the process no upstream must count as dead. */
    let unansweredPings = 0
    const onSignOfLife = (): void => {
      unansweredPings = 0
    }
    const heartbeat = setInterval(() => {
      // Pongs of a paused socket are not received.
      if (socket.readyState !== WebSocket.OPEN || socket.isPaused) return
      if (unansweredPings === maxUnansweredPings) socket.terminate()
      else {
        unansweredPings++
        socket.ping()
      }
    }, heartbeatMs)
    socket
      .on('message', (data: Buffer) => {
        onSignOfLife()
        onMessage(data)
      })
      .on('ping', onSignOfLife)
      .on('pong', onSignOfLife)
      // A message that breaks the protocol, or is too large: the socket closes.
      .on('error', () => {})
      .on('close', () => {
        clearInterval(heartbeat)
        onClose()
      })
    socket.resume()
    return {
      send: (message) => socket.send(message, () => {}),
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      terminate: () => socket.terminate(),
    }
  }
