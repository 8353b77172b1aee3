import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { until } from '../../test-support/until.ts'
import type { JsonObject } from '../base/json.ts'
import { createFakeProvider } from '../provider/provider.ts'
import { listen } from './listen.ts'
import { createResponsesSockets } from './responses-socket.ts'

async function start() {
  const fake = createFakeProvider({ apiKey: 'key' })
  const sockets = await createResponsesSockets(fake)
  const server = await listen(fake, { upgrade: sockets.upgrade })
  onTestFinished(() => server.close())
  const connect = (path = '/responses', authorization: string | undefined = 'Bearer key') => {
    const headers = authorization === '' ? {} : { authorization }
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers })
    const messages: JsonObject[] = []
    socket.on('error', () => {}).on('message', (data) => messages.push(JSON.parse(String(data))))
    const refused = new Promise((resolve) =>
      socket.once('unexpected-response', (_request, response) => {
        resolve(response.statusCode)
        response.resume()
      }),
    )
    const opened = new Promise<void>((resolve) => socket.once('open', () => resolve()))
    const say = (message: unknown): void => socket.send(JSON.stringify(message))
    const ended = async (count: number): Promise<JsonObject[]> => {
      const last = (): JsonObject[] => messages.filter(({ type }) => type === 'response.completed' || type === 'error')
      await until(() => last().length >= count, `${count} ends`)
      return last()
    }
    return { opened, refused, say, ended, messages }
  }
  return { fake, sockets, connect }
}
const create = { type: 'response.create', model: 'demo', store: false, input: 'My word is nutmeg.' }

it('refuses other paths, and upgrades without a key', async () => {
  const { connect, sockets } = await start()
  expect(await connect('/chat/completions').refused).toBe(404)
  expect(await connect('/responses', '').refused).toBe(401)
  sockets.refuse({ status: 426 })
  expect(await connect().refused).toBe(426)
})

it('continues its latest response with store: false, and no other one', async () => {
  const { connect, fake } = await start()
  const { opened, say, ended } = connect()
  await opened
  say(create)
  const [first] = await ended(1)
  const id = (first?.response as JsonObject | undefined)?.id ?? null
  say({ ...create, input: 'Go on.', previous_response_id: id })
  await ended(2)
  expect(JSON.stringify(fake.requests[1]?.body)).toMatch(/nutmeg.*Go on/)
  say({ ...create, input: 'Go on.', previous_response_id: id })
  expect((await ended(3))[2]).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } })
})

it('rejects messages that are no request, and a second one while a response runs', async () => {
  const { connect } = await start()
  const { opened, say, ended } = connect('/responses', 'Bearer wrong')
  await opened
  say(create)
  expect((await ended(1))[0]).toMatchObject({ status: 401 })
  const other = connect()
  await other.opened
  other.say({ type: 'response.steer' })
  other.say({ ...create, stream: false })
  other.say([1])
  expect((await other.ended(3)).map(({ status }) => status)).toEqual([400, 400, 400])
  other.say({ ...create, input: '[[words:50]] [[slow:5]]' })
  other.say(create)
  expect((await other.ended(4))[3]).toMatchObject({ error: { message: expect.stringContaining('in progress') } })
})
