import { until } from '@modelgate/testing/test-support'
import type OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseJson } from '../base/json.ts'
import { formats as upstreams } from '../base/recorded-traffic.ts'
import { SocketClient, type Turn } from '../base/responses-socket.ts'
import { servers } from '../base/servers.ts'
import { citySchema, createSdkFixture, pixel, type SdkFixture } from './context.ts'

const base = { model: 'demo', store: false } as const
const tools: OpenAI.Responses.FunctionTool[] = [
  { type: 'function', name: 'get_weather', description: 'Weather', parameters: citySchema, strict: true },
]
const [node] = servers
if (node === undefined) throw new Error('no server')

const settings = [
  ...upstreams.map((upstream) => ({ upstream, webSocket: false, name: upstream })),
  { upstream: 'responses' as const, webSocket: true, name: 'responses over its WebSocket' },
]

describe.each(settings)("OpenAI's client of Responses over WebSocket, upstream $name", ({ upstream, webSocket }) => {
  let setting: SdkFixture
  beforeEach(async () => {
    setting = await createSdkFixture(node, upstream, undefined, webSocket)
  })
  const sockets: SocketClient[] = []
  afterEach(async () => {
    // The server waits for its connections.
    for (const socket of sockets.splice(0)) socket.terminate()
    await setting.close()
  })

  const connect = (client = setting.openai): SocketClient => {
    const socket = new SocketClient(client)
    sockets.push(socket)
    return socket
  }
  const callsOf = ({ response }: Turn): OpenAI.Responses.ResponseFunctionToolCall[] =>
    (response?.output ?? []).flatMap((item) => (item.type === 'function_call' ? [item] : []))
  const settled = (count: number) => until(() => setting.finished.length === count, `${count} settled calls`)

  test('receives text as the events of a stream, numbered and in order, and settles one call', async () => {
    const { text, response, events } = await connect().ask({ ...base, input: '[[say:Hello — wörld 🙂]]' })
    expect(text).toBe('Hello — wörld 🙂')
    expect(response).toMatchObject({ status: 'completed', model: setting.responseModel, error: null })
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    expect(events[0]).toMatchObject({ type: 'response.created', headers: { 'modelgate-upstream': 'up' } })
    expect(events.slice(1, -1).every((event) => !('headers' in event))).toBe(true)
    await settled(1)
    expect(setting.finished[0]).toMatchObject({
      operation: 'generate',
      format: 'responses',
      outcome: 'finished',
      identity: { id: 'client' },
      stream: true,
      basis: 'reported',
    })
    expect(setting.finished[0]?.requestId).toBe(events[0]?.headers?.['x-request-id'])
  })

  test('continues a conversation on the connection without store, through a tool call', async () => {
    const socket = connect()
    const first = await socket.ask({
      ...base,
      instructions: 'Be brief.',
      input: 'My name is Ada. [[tool:get_weather {"city":"Paris"}]]',
      tools,
    })
    const [call] = callsOf(first)
    expect(call?.name).toBe('get_weather')
    expect(parseJson(call?.arguments ?? '')).toEqual({ city: 'Paris' })
    const second = await socket.ask({
      ...base,
      previous_response_id: first.response?.id ?? '',
      input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: '18 degrees' }],
      tools,
    })
    expect(second.text).toContain('get_weather answered: 18 degrees')
    const third = await socket.ask({
      ...base,
      previous_response_id: second.response?.id ?? '',
      input: 'and [[say:goodbye]]',
    })
    expect(third.text).toBe('goodbye')
    const sent = setting.fake.requests.at(-1)?.bodyText ?? ''
    expect(sent).toMatch(/My name is Ada[\s\S]*18 degrees[\s\S]*answered[\s\S]*goodbye/)
    expect(sent).not.toContain('Be brief.')
    await settled(3)
    expect(setting.fake.requests).toHaveLength(3)
  })

  test('receives structured output', async () => {
    const format = { type: 'json_schema' as const, name: 'place', schema: citySchema, strict: true }
    const { text } = await connect().ask({ ...base, input: 'Where?', text: { format } })
    expect(parseJson(text)).toMatchObject({ city: expect.any(String) })
  })

  test('sends an image', async () => {
    const { text, error } = await connect().ask({
      ...base,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${pixel}` },
          ],
        },
      ],
    })
    expect(error).toBeUndefined()
    expect(text).not.toBe('')
    expect(setting.fake.requests.at(-1)?.bodyText).toContain(pixel)
  })

  test('prepares a conversation with generate: false without an upstream call, and continues it', async () => {
    const socket = connect()
    const prepared = await socket.ask({ ...base, generate: false, input: 'Remember the word nutmeg.', tools })
    expect(prepared.response).toMatchObject({ status: 'completed', output: [], usage: { total_tokens: 0 } })
    expect(setting.fake.requests).toHaveLength(0)
    const { text } = await socket.ask({
      ...base,
      previous_response_id: prepared.response?.id ?? '',
      input: '[[say:yes]]',
      tools,
    })
    expect(text).toBe('yes')
    expect(setting.fake.requests.at(-1)?.bodyText).toMatch(/nutmeg[\s\S]*say:yes/)
    await settled(2)
    expect(setting.finished[0]).toMatchObject({ model: 'demo', outcome: 'finished', usage: { input: { total: 0 } } })
    expect(setting.finished[0]?.upstream).toBeUndefined()
  })

  test('stores a response for other connections and for GET, unless store is false', async () => {
    const one = await connect().ask({ model: 'demo', input: 'My name is Ada.' })
    const id = one.response?.id ?? ''
    const two = await connect().ask({ model: 'demo', previous_response_id: id, input: '[[say:continued]]' })
    expect(two.text).toBe('continued')
    expect(await setting.openai.responses.retrieve(id)).toMatchObject({ id })
    const kept = await connect().ask({ ...base, input: 'My name is Ada.' })
    const other = await connect().ask({ ...base, previous_response_id: kept.response?.id ?? '', input: 'Who am I?' })
    expect(other.error).toMatchObject({
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    })
  })

  test.each([
    ['[[status:429 retry-after:7]]', 429],
    ['[[status:500]]', 502],
  ])('receives an upstream failure (%s) as an error with status %d, and stays open', async (text, status) => {
    const socket = connect()
    const { error } = await socket.ask({ ...base, input: text })
    expect(error).toMatchObject({
      type: 'error',
      status,
      error: { message: expect.any(String), type: expect.any(String) },
    })
    if (status === 429) expect(error?.headers?.['retry-after']).toBe('7')
    expect((await socket.ask({ ...base, input: '[[say:still here]]' })).text).toBe('still here')
    await settled(2)
    expect(setting.finished.map(({ outcome }) => outcome)).toEqual(['failed', 'finished'])
  })

  test('receives an error in mid-stream as error and response.failed', async () => {
    const { error, response, text } = await connect().ask({
      ...base,
      // Gemini has few events, and other formats begin with several that hold no text.
      input: `[[words:40]] [[error-event after:${upstream === 'gemini' ? 2 : 8}]]`,
    })
    expect(text).not.toBe('')
    expect(error?.status).toBeUndefined()
    expect(response?.status).toBe('failed')
    await settled(1)
    expect(setting.finished[0]?.outcome).toBe('failed')
  })

  test('aborts the upstream call when the client disconnects, and settles it once', async () => {
    const { fake } = setting
    const socket = connect()
    socket.send({ ...base, input: '[[words:5000]] [[slow:5]]' })
    await until(() => socket.events.some(({ type }) => type === 'response.output_text.delta'), 'the first text')
    socket.terminate()
    await until(() => fake.stats.aborted === 1, 'the upstream to be aborted')
    await settled(1)
    expect(setting.finished[0]).toMatchObject({ outcome: 'aborted' })
  })

  test('rejects the upgrade of an unknown token with 401', async () => {
    const socket = connect(setting.unknownTokenClients.openai)
    const refused = new Promise<string>((resolve) =>
      socket.ws.on('error', (error) => resolve(String(error.cause ?? error))),
    )
    expect(await refused).toContain('401')
    expect(setting.fake.requests).toHaveLength(0)
  })

  test('names the field of an invalid request and an unknown model', async () => {
    const socket = connect()
    const wrong = await socket.ask({ ...base, model: 'nothing', input: 'x' })
    expect(wrong.error).toMatchObject({ status: 404, error: { code: 'model_not_found' } })
    const bad = await socket.ask({ ...base, input: 'x', temperature: 'hot' } as never)
    expect(bad.error?.status).toBe(400)
  })
})
