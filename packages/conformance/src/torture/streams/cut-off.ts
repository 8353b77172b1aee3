import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, rawHead, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check } from '../check.ts'
import { type Break, breakAll, heldOf, throwsOf } from './broken-streams.ts'

/** Ways in which connections end. A reset may overtake earlier data, which gets time to arrive. */
const ends: Readonly<Record<string, (call: UpstreamCall) => void | Promise<void>>> = {
  reset: async ({ socket }) => {
    await sleep(5)
    socket.resetAndDestroy()
  },
  'ended within its chunks': ({ socket }) => void socket.end(),
  'ended correctly, by its framing': ({ response }) => void response.end(),
}

const send = (call: UpstreamCall, text: string): void => {
  beginStream(call)
  if (text !== '') call.response.write(text)
}

/**
 * Returns the events before the one that completes the response. For Chat Completions, that is the finish reason
 * (docs/decisions/0005).
 */
function beforeCompletion(events: readonly string[]): readonly string[] {
  const finish = events.findIndex((event) => event.includes('"finish_reason":"stop"'))
  return events.slice(0, finish)
}

/** Positions in a good stream: nothing, three events, three and a half, all but the completing ones. */
const places: Readonly<Record<string, (events: readonly string[]) => string>> = {
  'before any event': () => '',
  'after three events': (events) => events.slice(0, 3).join(''),
  'within an event': (events) => events.slice(0, 3).join('') + events[3]?.slice(0, 30),
  'before its last event': (events) => beforeCompletion(events).join(''),
}

const breaks: readonly Break[] = [
  { name: 'reset before the headers', stream: true, play: ({ socket }) => void socket.resetAndDestroy() },
  { name: 'ended before the headers', stream: true, play: ({ socket }) => void socket.end() },
  ...Object.entries(ends).flatMap(([end, finish]) =>
    Object.entries(places).map(
      ([place, part]): Break => ({
        name: `${end} ${place}`,
        stream: true,
        play(call) {
          send(call, part(good[formatOf(call)]))
          return finish(call)
        },
      }),
    ),
  ),
  {
    name: 'ended after three events, without a length',
    stream: true,
    play(call) {
      const events = good[formatOf(call)].slice(0, 3).join('')
      call.socket.end(`${rawHead(200, { 'content-type': 'text/event-stream', connection: 'close' })}${events}`)
    },
  },
  ...Object.entries(ends).map(
    ([end, finish]): Break => ({
      name: `${end} within a JSON response`,
      stream: false,
      play(call) {
        call.response.writeHead(200, { 'content-type': 'application/json' })
        call.response.write(JSON.stringify(wholeResponse[formatOf(call)]).slice(0, 80))
        return finish(call)
      },
    }),
  ),
]

/** A truncated response that looks finished is worse than a crash. */
export const cutOff: Check = {
  row: 4,
  group: 'Streams',
  title: 'Upstream RST, EOF, EOF mid-event',
  promise:
    'exactly one error event in the client’s dialect, no success marker; official OpenAI, Anthropic, Gemini SDKs throw 100/100',
  perServer: true,
  async run(setting) {
    const breaking = await breakAll(setting, breaks, {
      rounds: setting.count(10, 1),
      official: setting.count(100, 2 * breaks.length),
    })
    const { total, reported, notes } = breaking
    return {
      held: heldOf(breaking),
      figure: `${reported}/${total} reported as one error, no success; official SDKs threw: ${throwsOf(breaking)}`,
      notes,
    }
  },
}
