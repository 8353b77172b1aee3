// A fake provider of paced streams: the first event at once, then one per interval, all streams by one clock. Each
// event contains the microsecond of its sending, by a clock that all processes share.
//   node paced-upstream.js <milliseconds between two events> <events of a stream> [<milliseconds of quiet>]
// With the last argument, second events wait until no stream has been opened for this long: opening thousands is not part
// of the measurement.
import net from 'node:net'
import { nowMicros, stampDigits } from './paced-events.js'
import { report } from './process.js'

const [interval = 100, events = 10, quiet = 0] = process.argv.slice(2).map(Number)

/** @typedef {{ socket: net.Socket, due: number, left: number }} Stream `due`: microseconds */

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const open =
  'data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1760000000,"model":"bench-model","choices":[{"index":0,"delta":{"content":"'
const close = '"},"logprobs":null,"finish_reason":null}]}\n\n'
const last = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1760000000,"model":"bench-model","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`
const ending = `${last.length.toString(16)}\r\n${last}\r\n0\r\n\r\n`
const size = (open.length + stampDigits + close.length).toString(16)

const event = () => `${size}\r\n${open}${String(nowMicros()).padStart(stampDigits, '0')}${close}\r\n`

/** All streams wait for the same interval, so the queue is ordered by due time. @type {Stream[]} */
let waiting = []
let first = 0

/** @param {Stream} stream */
function send(stream) {
  const { socket } = stream
  if (socket.destroyed) return
  stream.left--
  if (stream.left <= 0) {
    socket.write(event() + ending)
    return
  }
  socket.write(event())
  stream.due += interval * 1000
  waiting.push(stream)
}

let lastOpened = 0
let held = false

/** Spreads the streams over one interval, regardless of when they were opened. @param {number} now */
function release(now) {
  held = false
  waiting = waiting.slice(first)
  first = 0
  for (const [i, stream] of waiting.entries()) stream.due = now + (i / waiting.length) * interval * 1000
}

function tick() {
  const now = nowMicros()
  if (now - lastOpened < quiet * 1000) {
    held = true
    return
  }
  if (held) release(now)
  for (let next = waiting[first]; next !== undefined && next.due <= now; next = waiting[first]) {
    first++
    send(next)
  }
  if (first > 10_000) {
    waiting = waiting.slice(first)
    first = 0
  }
}
setInterval(tick, 1)

const server = net.createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
    const at = text.indexOf('\r\n\r\n')
    if (at < 0) return
    const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0)
    if (text.length < at + 4 + length) return
    text = ''
    socket.write(head + event())
    lastOpened = nowMicros()
    const stream = { socket, due: lastOpened + interval * 1000, left: events - 1 }
    if (stream.left > 0) waiting.push(stream)
  })
})
server.listen(0, '127.0.0.1', () => report(server))
