import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A slow Redis: a delaying proxy in front of a real one. */
export interface DelayedRedis {
  readonly url: string
  /** Adds half of this delay to each direction. */
  roundTripMs(ms: number): void
  /** Pauses all traffic in both directions for a while, including new connections. */
  pause(ms: number): void
  /** Closes all connections at once, as a restarted load balancer does; new ones are accepted. */
  cut(): void
  close(): Promise<void>
}

/** Starts a proxy that delays traffic to and from a Redis. */
export async function delayRedis(target: string): Promise<DelayedRedis> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let oneWayMs = 0
  let pausedUntil = 0

  const forward = (from: Socket, to: Socket): void => {
    // Keeps the order: later data must not overtake paused data.
    let earlier = Promise.resolve()
    const later = (work: () => void): void => {
      const at = Math.max(performance.now() + oneWayMs, pausedUntil)
      earlier = earlier
        .then(() => new Promise((resolve) => setTimeout(resolve, at - performance.now())))
        .then(() => {
          if (!to.destroyed) work()
        })
    }
    from.on('data', (chunk) => later(() => to.write(chunk)))
    from.on('close', () => later(() => to.end()))
    from.on('error', () => {})
  }
  const server = createServer((client) => {
    const redis = connect(Number(port), hostname)
    for (const socket of [client, redis]) {
      sockets.add(socket.setNoDelay())
      socket.on('close', () => sockets.delete(socket))
    }
    forward(client, redis)
    forward(redis, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    roundTripMs(ms) {
      oneWayMs = ms / 2
    },
    pause(ms) {
      pausedUntil = performance.now() + ms
    },
    cut,
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
