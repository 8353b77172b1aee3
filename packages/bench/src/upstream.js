// A fake provider with canned responses straight from a socket, so that it is never the slowest part. It reads only
// the length and the path of a request. `/json/…` returns JSON, `/stream/…` an event stream.
import net from 'node:net'
import { answerBody, chatEvents, messagesEvents } from './payloads.js'
import { report } from './process.js'

const answerBytes = Number(process.env.BENCH_ANSWER_BYTES ?? 1024)
const events = Number(process.env.BENCH_EVENTS ?? 203)
const eventsPerChunk = Number(process.env.BENCH_EVENTS_PER_CHUNK ?? 20)

/** @param {string} body */
const jsonAnswer = (body) =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_bench\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )

/** Sends the whole stream in one write: the proxy sets the pace. @param {string[]} list */
function streamAnswer(list) {
  let text = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  for (let at = 0; at < list.length; at += eventsPerChunk) {
    const chunk = list.slice(at, at + eventsPerChunk).join('')
    text += `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`
  }
  return Buffer.from(`${text}0\r\n\r\n`)
}

const chat = jsonAnswer(answerBody('chat', answerBytes))
const messages = jsonAnswer(answerBody('messages', answerBytes))
const chatStream = streamAnswer(chatEvents(events))
const messagesStream = streamAnswer(messagesEvents(events))

/** @param {string} head */
function answerTo(head) {
  if (head.startsWith('POST /stream/v1/messages')) return messagesStream
  if (head.startsWith('POST /stream/')) return chatStream
  return head.startsWith('POST /json/v1/messages') ? messages : chat
}

const server = net.createServer({ noDelay: true }, (socket) => {
  /** @type {Buffer | undefined} */
  let held
  let bodyLeft = 0
  let answer = chat
  socket.on('error', () => socket.destroy())
  socket.on('data', (data) => {
    let chunk = held === undefined ? data : Buffer.concat([held, data])
    held = undefined
    while (chunk.length > 0) {
      if (bodyLeft === 0) {
        const end = chunk.indexOf('\r\n\r\n')
        if (end < 0) {
          held = chunk
          return
        }
        const head = chunk.toString('latin1', 0, end)
        const length = /content-length: *(\d+)/i.exec(head)
        if (length === null) throw new Error(`the fake upstream needs a content-length:\n${head}`)
        bodyLeft = Number(length[1])
        answer = answerTo(head)
        chunk = chunk.subarray(end + 4)
      }
      const accepted = Math.min(bodyLeft, chunk.length)
      bodyLeft -= accepted
      chunk = chunk.subarray(accepted)
      if (bodyLeft > 0) return
      socket.write(answer)
    }
  })
})
server.listen(0, '127.0.0.1', () => report(server))
