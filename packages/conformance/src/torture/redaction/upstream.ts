import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { wholeResponse } from '../../base/upstream-responses.ts'
import { keyIn } from '../secrets/echoes.ts'
import { addressMark, mark, type UpstreamReply } from './shapes.ts'

/** The upstream's script for the calls with one number. */
export interface Part {
  /** For calls over HTTP, including rejected upgrades. */
  readonly reply?: UpstreamReply
  /** Events of a session, and its close reason. */
  readonly session?: { readonly events: readonly string[]; readonly reason: string }
  /** Encodes the secret. */
  spell(secret: string): string
  /** Splits the body in the middle of the secret. */
  readonly split: boolean
  /** Called with the upstream's body for each call. */
  onCall(sent: string): void
}

export interface MatrixUpstream {
  readonly origin: string
  /** Scripts by the number in the model name. */
  readonly parts: Map<number, Part>
  close(): Promise<void>
}

/** Returns the name of a model that selects a script. */
export const modelOf = (provider: string, number: number): string => `matrix-${provider}-${number}-`
const named = /matrix-[a-z]+-(\d+)-/

/**
 * Starts an upstream that repeats the credential of each call, in the place and the spelling that the model's name
 * selects.
 */
export async function startMatrixUpstream(): Promise<MatrixUpstream> {
  const parts = new Map<number, Part>()
  const partOf = (text: string): Part | undefined => parts.get(Number(named.exec(text)?.[1]))
  let origin = ''
  const reported = (text: string, part: Part, incoming: IncomingMessage): string =>
    text.replaceAll(mark, () => part.spell(keyIn(incoming.headers))).replaceAll(addressMark, origin)

  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces).toString('latin1')
    const part = partOf(`${incoming.url} ${body}`)
    if (part?.reply === undefined) return void response.writeHead(500).end()
    // Stores the response for later retrieval.
    if (incoming.url?.endsWith('/responses') === true && body.includes('"keep-me"')) {
      const id = `resp_${named.exec(body)?.[0]}`
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...wholeResponse.responses, id }))
    }
    answer(response, incoming, part, part.reply)
  })

  function answer(response: ServerResponse, incoming: IncomingMessage, part: Part, reply: UpstreamReply): void {
    const written = Object.fromEntries(
      Object.entries(reply.headers).map(([name, value]) => [name, reported(value, part, incoming)]),
    )
    const body = reported(reply.body, part, incoming)
    part.onCall(body)
    response.writeHead(reply.status, reported(reply.reason ?? 'Whatever', part, incoming), written)
    if (reply.trailers !== undefined)
      response.addTrailers(
        Object.fromEntries(
          Object.entries(reply.trailers).map(([name, value]) => [name, reported(value, part, incoming)]),
        ),
      )
    const secret = body.indexOf(part.spell(keyIn(incoming.headers)))
    if (!part.split || secret < 0) return void response.end(body)
    response.write(body.slice(0, secret + 9))
    // A turn later, so that it is another chunk.
    setTimeout(() => response.end(body.slice(secret + 9)), 2)
  }

  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    const part = partOf(incoming.url ?? '')
    if (part === undefined) return void socket.destroy()
    if (part.session === undefined) {
      const { status, headers, body, reason = 'Whatever' } = part.reply as UpstreamReply
      const text = reported(body, part, incoming)
      part.onCall(text)
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${reported(value, part, incoming)}\r\n`)
      socket.end(
        `HTTP/1.1 ${status} ${reported(reason, part, incoming)}\r\n${lines.join('')}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      )
      return
    }
    const { events, reason } = part.session
    sockets.handleUpgrade(incoming, socket, head, (accepted) => {
      const all = events.map((event) => reported(event, part, incoming))
      part.onCall(all.join('\n'))
      for (const event of all) accepted.send(event)
      accepted.close(4000, reported(reason, part, incoming).slice(0, 123))
    })
  })

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    parts,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}
