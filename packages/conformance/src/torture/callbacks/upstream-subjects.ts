import {
  bedrock,
  type Transport,
  type TransportResponse,
  toInbound,
  toResponse,
  type Upstream,
  vertex,
} from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { formats } from '../../base/recorded-traffic.ts'
import { afterLateness, type Cell, firstByteMs, type Subject } from './behaviours.ts'
import {
  answerOf,
  complainIf,
  notRefused,
  notServed,
  requestFor,
  respondTo,
  send,
  sendAll,
  upstreams,
  worldWith,
} from './world.ts'

/** Allowed statuses for a failing upstream. */
const upstreamErrors = [502, 504]
/** A call that must be served has no time limit. */
const limitsOf = ({ works }: Cell) => (works ? {} : { firstByteMs, idleMs: firstByteMs })

async function allOrNone({ works }: Cell, gateway: Parameters<typeof sendAll>[0]): Promise<readonly string[]> {
  const replies = await sendAll(gateway)
  return works ? notServed(replies) : notRefused(replies, upstreamErrors)
}

/** Creates a working transport with one function of its responses replaced. */
function transportWith(part: (response: TransportResponse) => Partial<TransportResponse>): Transport {
  return async ({ url, body }) => {
    const { type, text } = answerOf({
      url,
      body: typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array),
    })
    const bytes = new TextEncoder().encode(text)
    const response: TransportResponse = {
      status: 200,
      header: (name) => (name === 'content-type' ? type : undefined),
      bytes: async () => bytes,
      async *stream() {
        yield bytes
      },
      discard() {},
    }
    return { ...response, ...part(response) }
  }
}

/** Creates a gateway with an adapter that provides a transport. */
function over(cell: Cell, transport: Transport): Parameters<typeof sendAll>[0] {
  const { gateway } = worldWith({ limits: limitsOf(cell), fetch: undefined as never })
  return {
    fetch: async (input) => {
      const request = input as Request
      return toResponse(
        await adapterFunctions(gateway).handle(toInbound(request), transport),
        request.method,
        request.signal,
      )
    },
  }
}

const responseWith = (cell: Cell, part: (response: TransportResponse) => Partial<TransportResponse>) =>
  over(cell, transportWith(part))

const notResponses = [undefined, null, 5, 'x', true, {}, [], { status: 200 }, { status: '200', headers: new Headers() }]

/** Sends calls to an upstream whose credential comes from the function. */
async function withCredential(cell: Cell, upstream: Upstream, model: string): Promise<readonly string[]> {
  const { gateway, sent } = worldWith({
    upstreams: { ...upstreams, chat: upstream },
    models: { 'chat-model': { upstream: 'chat', model } },
    limits: limitsOf(cell),
  })
  const replies = await Promise.all(
    [false, true].map((stream) => send(gateway, requestFor('chat', { stream }), 'chat')),
  )
  // The response is not in the upstream's own format; only the upstream call matters.
  if (cell.works) return complainIf(sent.length !== replies.length, `${sent.length} calls reached the upstream`)
  return [
    ...notRefused(replies, [500, ...upstreamErrors]),
    ...complainIf(sent.length > 0, 'a call reached the upstream'),
  ]
}

export const upstreamSubjects = [
  {
    name: 'fetch',
    awaited: true,
    garbage: notResponses,
    async attempt(cell) {
      let opened = 0
      let cancelled = 0
      const fetch = cell.misbehave((input: URL | RequestInfo, init: RequestInit = {}) => {
        if (cell.works)
          return respondTo({
            url: String(input),
            headers: new Headers(),
            body: String(init.body instanceof Uint8Array ? new TextDecoder().decode(init.body) : init.body),
          })
        opened++
        return new Response(new ReadableStream({ cancel: () => void cancelled++ }))
      })
      const complaints = await allOrNone(cell, worldWith({ fetch, limits: limitsOf(cell) }).gateway)
      if (cell.behaviour === 'resolves late') await afterLateness()
      return [
        ...complaints,
        ...complainIf(opened !== cancelled, `${opened} responses were late, ${cancelled} were cancelled`),
      ]
    },
  },
  {
    name: "fetch's body",
    awaited: true,
    garbage: [undefined, 5, 'x', {}],
    async attempt(cell) {
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const body = init?.body
        const { type, text } = answerOf({
          url: String(input),
          body: body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body),
        })
        const pull = cell.misbehave((controller: ReadableStreamDefaultController<Uint8Array>) => {
          controller.enqueue(new TextEncoder().encode(text))
          controller.close()
        })
        return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: { 'content-type': type } })
      }
      return allOrNone(cell, worldWith({ fetch, limits: limitsOf(cell) }).gateway)
    },
  },
  {
    name: 'transport',
    awaited: true,
    garbage: notResponses,
    attempt: (cell) => allOrNone(cell, over(cell, cell.misbehave(transportWith(() => ({}))) as unknown as Transport)),
  },
  {
    name: 'transport.bytes',
    awaited: true,
    garbage: [undefined, null, 5, 'x', {}],
    async attempt(cell) {
      const gateway = responseWith(cell, (response) => ({ bytes: cell.misbehave(() => response.bytes(1e6)) }))
      const replies = await Promise.all(formats.map((format) => send(gateway, requestFor(format), format)))
      return cell.works ? notServed(replies) : notRefused(replies, upstreamErrors)
    },
  },
  {
    name: 'transport.stream',
    awaited: true,
    garbage: [undefined, null, 5, 'x', {}],
    async attempt(cell) {
      const gateway = responseWith(cell, (response) => ({
        stream() {
          const source = response.stream()[Symbol.asyncIterator]()
          return { [Symbol.asyncIterator]: () => ({ next: cell.misbehave(() => source.next()) }) }
        },
      }))
      const replies = await Promise.all(
        formats.map((format) => send(gateway, requestFor(format, { stream: true }), format)),
      )
      return cell.works ? notServed(replies) : notRefused(replies, upstreamErrors)
    },
  },
  {
    name: 'transport.header',
    awaited: false,
    garbage: [null, 5, true, {}],
    async attempt(cell) {
      const gateway = responseWith(cell, (response) => ({
        header: cell.misbehave((name: string) => response.header(name)),
      }))
      // Without a content type, a body is detected or rejected.
      const replies = await sendAll(gateway)
      return notRefused(
        replies.filter(({ status }) => status !== 200),
        upstreamErrors,
      )
    },
  },
  {
    name: 'transport.discard',
    awaited: true,
    garbage: [undefined, null, 5, {}],
    async attempt(cell) {
      const gateway = responseWith(cell, () => ({ status: 302, discard: cell.misbehave(() => undefined) }))
      return notRefused(await sendAll(gateway), upstreamErrors)
    },
  },
  {
    name: 'authorize of an upstream',
    awaited: true,
    garbage: [undefined, null, 5, 'x', [], { authorization: 5 }, { authorization: 'two\nlines' }],
    attempt: (cell) =>
      withCredential(
        cell,
        { ...upstreams.chat, authorize: cell.misbehave(() => ({ authorization: 'Bearer made' })) },
        'm',
      ),
  },
  {
    name: 'token of an upstream',
    awaited: true,
    garbage: [undefined, null, 5, '', {}, { token: 5 }, { token: 't', expiresAt: 'soon' }],
    attempt: (cell) =>
      withCredential(
        cell,
        vertex({ project: 'p', location: 'eu', baseURL: 'http://gemini', token: cell.misbehave(() => 't') }),
        'gemini-x',
      ),
  },
  {
    name: 'isClaude of Bedrock',
    awaited: false,
    garbage: [undefined, null, 5, 'yes', {}],
    attempt: (cell) =>
      withCredential(
        cell,
        bedrock({ region: 'eu-west-1', baseURL: 'http://chat', apiKey: 'k', isClaude: cell.misbehave(() => true) }),
        'm',
      ),
  },
  {
    name: 'credentials of AWS',
    awaited: true,
    garbage: [
      undefined,
      null,
      5,
      'x',
      {},
      { accessKeyId: 'a' },
      { accessKeyId: 'a', secretAccessKey: 's', expiration: 'soon' },
    ],
    attempt: (cell) =>
      withCredential(
        cell,
        bedrock({
          region: 'eu-west-1',
          baseURL: 'http://chat',
          credentials: cell.misbehave(() => ({ accessKeyId: 'a', secretAccessKey: 's' })),
        }),
        'anthropic.claude-x',
      ),
  },
] as const satisfies readonly Subject[]
