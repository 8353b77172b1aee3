// Measures the memory that concurrent paced streams take, and how much of it stays after they have ended.
//   node packages/bench/src/retained-memory.js [<streams>]
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { requestBody } from './payloads.js'
import { startServer } from './process.js'

const streams = Number(process.argv[2] ?? 3000)
/** Longer than idle connections to upstreams stay open. */
const settleMs = 6000
/** Milliseconds between two events, and events of a stream. */
const [interval, events] = [1000, 12]

/** The upstream speaks the chat format: streams in the messages format are translated. */
const lanes = /** @type {const} */ ([
  { name: 'bare proxy', file: 'bare-proxy.js', format: 'chat', path: '/v1/chat/completions', end: '[DONE]' },
  { name: 'gateway', file: 'gateway-proxy.js', format: 'chat', path: '/v1/chat/completions', end: '[DONE]' },
  {
    name: 'gateway, translated',
    file: 'gateway-proxy.js',
    format: 'messages',
    path: '/v1/messages',
    end: 'message_stop',
  },
])

/** @typedef {typeof lanes[number]} Lane */

/** Opens a stream; resolves to the status and the end of the connection. @param {number} port @param {Lane} lane */
async function open(port, { format, path, end }) {
  const body = requestBody(format, 'stream-model', 1024, true)
  const head = `POST ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer bench-token\r\nanthropic-version: 2023-06-01`
  const request = `${head}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const socket = net.connect(port, '127.0.0.1')
  socket.write(request)
  const [first] = await once(socket, 'data')
  const ended = new Promise((resolve) => {
    socket.on('data', (data) => {
      if (data.includes(end)) resolve(socket.destroy())
    })
    socket.on('close', resolve)
    socket.on('error', resolve)
  })
  return { status: Number(first.toString('latin1').slice(9, 12)), ended }
}

/** @param {Lane} lane */
async function measure(lane) {
  const { name, file } = lane
  const upstream = await startServer('paced-upstream.js', { args: [String(interval), String(events)] })
  const proxy = await startServer(file, {
    args: [`http://127.0.0.1:${upstream.port}`],
    nodeArgs: ['--expose-gc'],
  })
  // The first calls load and compile code that is no part of the streams.
  for (let i = 0; i < 20; i++) void (await open(proxy.port, lane))
  await sleep(interval * events + settleMs)
  const before = await proxy.memory()
  /** @type {Awaited<ReturnType<typeof open>>[]} */
  const opened = []
  for (let i = 0; i < streams; i += 100)
    opened.push(...(await Promise.all(Array.from({ length: 100 }, () => open(proxy.port, lane)))))
  const during = await proxy.memory()
  await Promise.all(opened.map(({ ended }) => ended))
  await sleep(settleMs)
  await proxy.memory()
  const after = await proxy.memory()
  const failed = opened.filter(({ status }) => status !== 200).length
  const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`
  const each = ((during.heap - before.heap) / streams / 1000).toFixed(1)
  console.log(
    `${name}: heap ${megabytes(before.heap)} before, ${megabytes(during.heap)} with ${streams} streams (${each} kB each), ${megabytes(after.heap)} after; RSS ${megabytes(before.rss)}, ${megabytes(during.rss)}, ${megabytes(after.rss)}; ${failed} failed`,
  )
  await Promise.all([proxy.stop(), upstream.stop()])
}

for (const lane of lanes) await measure(lane)
