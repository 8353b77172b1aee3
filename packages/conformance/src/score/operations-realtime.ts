import { connect } from 'node:net'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime'
import type { ClientOptions } from 'ws'
import type { Check } from './check.ts'
import { type Context, requireToken } from './context.ts'
import { CheckFailed, CheckSkipped, formatValue, must, NotServed } from './expectations.ts'

interface Session {
  /** Returns the events up to and including the first of this type. */
  until(type: RealtimeServerEvent['type']): Promise<RealtimeServerEvent[]>
  send: OpenAIRealtimeWS['send']
  close(): Promise<number>
}

/** Options for a plain connection without TLS, which the client does not offer. */
function connection(url: URL): ClientOptions {
  if (url.protocol === 'https:') return {}
  const port = Number(url.port) || 80
  return { createConnection: () => connect(port, url.hostname.replace(/^\[|\]$/g, '')) }
}

/** Opens a session with the official client. Fails if the server returns anything but the upgrade. */
function openSession(context: Context, stranger = false): Session {
  const { target } = context
  if (target.socketless) throw new CheckSkipped('there is no socket for a session')
  const client = stranger ? context.unknownTokenClients.openai : context.openai
  const options = { ...connection(new URL(target.origin)), headers: { ...target.headers } }
  const rt = new OpenAIRealtimeWS({ model: context.modelFor('realtime'), options }, client)
  const events: RealtimeServerEvent[] = []
  let failure: Error | undefined
  let code: number | undefined
  let wake: () => void = () => {}
  const fail = (error: Error): void => {
    failure ??= error
    wake()
  }
  rt.on('event', (event) => {
    events.push(event)
    wake()
  })
  rt.on('error', (error) => fail(new CheckFailed(`the session failed: ${error.message}`)))
  rt.socket.on('unexpected-response', (_request, response) => {
    const status = response.statusCode ?? 0
    const absent = status === 501 || status === 405
    fail(absent ? new NotServed(`status ${status} instead of the upgrade`) : new Refused(status))
    rt.socket.terminate()
  })
  rt.socket.on('close', (closed: number) => {
    code = closed
    fail(new CheckFailed(`the session was closed with code ${closed}`))
  })
  context.signal.addEventListener('abort', () => rt.socket.terminate(), { once: true })
  const woken = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })
  return {
    send: (event) => rt.send(event),
    async until(type) {
      for (;;) {
        const at = events.findIndex((event) => event.type === type)
        if (at >= 0) return events.splice(0, at + 1)
        if (failure !== undefined) throw failure
        await woken()
      }
    },
    async close() {
      rt.close({ code: 1000, reason: 'done' })
      while (code === undefined) await woken()
      return code
    },
  }
}

/** A status code instead of the upgrade. */
class Refused extends CheckFailed {
  readonly status: number
  constructor(status: number) {
    super(`received status ${status} instead of the upgrade`)
    this.status = status
  }
}

/** Checks of sessions over a WebSocket. */
export const realtimeOperations: readonly Check[] = [
  {
    format: 'realtime',
    feature: 'session',
    needs: 'realtime',
    proves: 'A session opens, and a question in it gets a reply of streamed text.',
    calls: 1,
    isEntry: true,
    async run(context) {
      const session = openSession(context)
      const [created] = await session.until('session.created')
      must(created?.type === 'session.created', `the first event is ${formatValue(created?.type)}`)
      session.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } })
      const content = [{ type: 'input_text' as const, text: 'Say hello in one short sentence.' }]
      session.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
      session.send({ type: 'response.create' })
      const events = await session.until('response.done')
      const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
      must(text !== '', `no text among the events ${formatValue(events.map(({ type }) => type))}`)
      const done = events.at(-1)
      must(done?.type === 'response.done' && done.response.status === 'completed', 'the response was not completed')
      const code = await session.close()
      must(code === 1000, `the session closed with code ${code}, expected 1000`)
    },
  },
  {
    format: 'realtime',
    feature: 'wrong token',
    needs: 'realtime',
    proves: 'An unknown token cannot open a session.',
    calls: 1,
    async run(context) {
      requireToken(context)
      try {
        await openSession(context, true).until('session.created')
      } catch (error) {
        if (error instanceof Refused) {
          must(error.status === 401 || error.status === 403, `expected status 401, received ${error.status}`)
          return
        }
        // Some servers accept the socket first and close it at once.
        if (error instanceof CheckFailed) return
        throw error
      }
      must(false, 'a session was opened although the token is unknown')
    },
  },
]
