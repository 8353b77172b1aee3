import type { listenRealtime } from '@modelgate/testing'
import { WebSocket } from 'ws'
import { sleep } from '../../base/upstream-responses.ts'
import type { Target } from '../check.ts'
import { bearer } from './callers.ts'

export type Realtime = Awaited<ReturnType<typeof listenRealtime>>

interface Client {
  readonly name: string
  readonly socket: WebSocket
  readonly messages: string[]
}

const connect = (target: Target, model: string, token: string, name: string): Promise<Client | undefined> =>
  new Promise((resolve) => {
    const address = `${target.origin.replace('http', 'ws')}/v1/realtime?model=${model}`
    const socket = new WebSocket(address, { headers: bearer.headers(token) })
    const messages: string[] = []
    socket.on('message', (data) => messages.push(String(data)))
    socket.once('open', () => resolve({ name, socket, messages }))
    socket.once('error', () => resolve(undefined))
  })

/** Opens concurrent sessions of two tenants, each with its own data: it must receive that, and nothing else. */
export async function crossSessions(
  target: Target,
  fake: Realtime,
  model: string,
  tokens: readonly string[],
  each: number,
): Promise<{ sessions: number; complaints: string[] }> {
  const complaints: string[] = []
  const clients: Client[] = []
  for (const [tenant, token] of tokens.entries())
    for (let number = 0; number < each; number++) {
      const client = await connect(target, model, token, `session-${tenant}-${number}-of`)
      if (client === undefined) complaints.push('a session was rejected')
      else clients.push(client)
    }
  for (const { socket, name } of clients) socket.send(JSON.stringify({ type: 'session.update', event_id: name }))
  await sleep(300)
  for (const session of fake.sessions) {
    const names: string[] = [...new Set(session.received.join('').match(/session-\d+-\d+-of/g) ?? [])]
    if (names.length !== 1) complaints.push(`an upstream session received data of ${names.length} clients`)
    if (tokens.some((token) => JSON.stringify(session.headers).includes(token)))
      complaints.push('a client token reached the upstream')
    await session.send({ type: 'note', text: `for ${names[0]}` })
  }
  await sleep(300)
  for (const { name, messages, socket } of clients) {
    const received: string[] = messages.join('\n').match(/session-\d+-\d+-of/g) ?? []
    if (!received.includes(name)) complaints.push('a client did not receive data of its own upstream')
    if (received.some((other) => other !== name)) complaints.push('a client received data of another session')
    socket.terminate()
  }
  return { sessions: clients.length, complaints }
}
