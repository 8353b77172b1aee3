// A hostile client in its own process, so that its work does not count as the gateway's. `hostile.ts` starts it with
// orders and kills it.
import { Agent, request } from 'node:http'
import { connect } from 'node:net'

/** Instructions for the process. */
export interface Orders {
  readonly origin: string
  readonly way: Way
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  /** A prompt that makes the upstream stream without end. */
  readonly endless: string
}

export type Way = 'huge bodies' | 'slow readers' | 'slow writers' | 'a flood of 4xx' | 'connections that leave'

const path = '/v1/chat/completions'
const megabyte = 1_000_000

/** A body of the default maximum size with many small messages and an error at its end. */
function hugeBody(model: string): Buffer {
  const message = '{"role":"user","content":"All work and no play makes Jack a dull boy."},'
  const count = Math.floor((31 * megabyte) / message.length)
  return Buffer.from(`{"model":"${model}","messages":[${message.repeat(count)}{"role":7}],"stream":"perhaps"`)
}

/** Number of completed actions. */
let done = 0

const forever = (width: number, once: () => Promise<void>): void => {
  for (let number = 0; number < width; number++)
    void (async () => {
      for (;;) {
        await once()
        done++
      }
    })()
}

/** Sends one request and discards the response. */
const post = ({ origin, headers }: Orders, agent: Agent, body: string | Buffer): Promise<void> =>
  new Promise((resolve) => {
    const outgoing = request(`${origin}${path}`, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().on('close', resolve)
    })
    outgoing.on('error', () => setTimeout(resolve, 10))
    outgoing.end(body)
  })

/** Opens a raw socket that has sent a request head. */
function open(orders: Orders, length: number) {
  const { hostname, port, host } = new URL(orders.origin)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  const headers = { host, ...orders.headers, 'content-length': String(length) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return socket
}

const closed = (socket: ReturnType<typeof open>): Promise<void> =>
  new Promise((resolve) => socket.once('close', () => resolve()))

const ways: Readonly<Record<Way, (orders: Orders) => void>> = {
  'huge bodies'(orders) {
    const agent = new Agent({ keepAlive: true })
    const body = hugeBody(orders.model)
    forever(4, () => post(orders, agent, body))
  },
  'a flood of 4xx'(orders) {
    const agent = new Agent({ keepAlive: true, maxSockets: 32 })
    const wrong = ['{', '{"model":"nowhere","messages":[]}', '[]', '{"model":7}', '']
    let turn = 0
    forever(32, () => post(orders, agent, wrong[turn++ % wrong.length] ?? ''))
  },
  'slow readers'(orders) {
    const { model, endless } = orders
    const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: endless }] })
    forever(100, async () => {
      const socket = open(orders, Buffer.byteLength(body))
      socket.write(body)
      socket.pause()
      await closed(socket)
    })
  },
  'slow writers'(orders) {
    forever(200, async () => {
      const socket = open(orders, megabyte)
      const timer = setInterval(() => socket.write('x'), 100)
      socket.resume()
      await closed(socket)
      clearInterval(timer)
    })
  },
  'connections that leave'(orders) {
    forever(16, async () => {
      const socket = open(orders, 100)
      await new Promise((resolve) => setTimeout(resolve, 5))
      socket.resetAndDestroy()
      await closed(socket)
    })
  },
}

if (process.send !== undefined) {
  const orders = JSON.parse(process.argv[2] ?? '{}') as Orders
  ways[orders.way](orders)
  setInterval(() => process.send?.(done), 50)
  process.once('disconnect', () => process.exit())
}
