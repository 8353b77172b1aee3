import { WebSocket } from 'ws'
import { mark, type UpstreamReply, words } from './shapes.ts'
import type { Part } from './upstream.ts'

/** An event of a realtime session with a place for the secret. */
const of = (type: string, fields: object): string => JSON.stringify({ event_id: 'event_1', type, ...fields })

const failure = { type: 'server_error', code: mark, message: words, param: mark }

/** Session data of an upstream outside of content. */
export const sessionParts: Readonly<Record<string, Pick<Part, 'session' | 'reply'>>> = {
  ...Object.fromEntries(
    Object.entries({
      error: { error: failure },
      'response.done': { response: { status: 'failed', status_details: { type: 'failed', error: failure } } },
      'conversation.item.input_audio_transcription.failed': { item_id: 'item_1', error: failure },
      'mcp_list_tools.failed': { item_id: mark },
      'response.mcp_call.failed': { item_id: 'item_1', message: words },
      'conversation.item.done': { item: { type: 'mcp_call', error: failure } },
      'response.output_item.done': { item: { type: 'mcp_list_tools', error: words } },
      'session.updated': { session: { debug_note: mark, tools: [{ headers: { authorization: mark } }] } },
      'an unknown event': { [mark]: [mark] },
    }).map(([type, fields]) => [type, { session: { events: [of(type, fields)], reason: '' } }]),
  ),
  'plain text': { session: { events: [words], reason: '' } },
  'a close reason': { session: { events: [], reason: words } },
  ...Object.fromEntries(
    [400, 401, 403, 429, 500, 503].map((status): [string, { reply: UpstreamReply }] => [
      `${status} instead of the upgrade`,
      {
        reply: {
          status,
          reason: mark,
          headers: { 'content-type': 'application/json', 'x-request-id': mark, 'retry-after': mark },
          body: JSON.stringify({ error: failure }),
        },
      },
    ]),
  ),
}

/** Returns everything that a client of the gateway receives in a session with this model, or instead of it. */
export function sessionWith(origin: string, token: string, model: string): Promise<string> {
  return new Promise((resolve) => {
    let reported = ''
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/realtime?model=${model}`, {
      headers: { authorization: `Bearer ${token}` },
      perMessageDeflate: false,
    })
    const giveUp = setTimeout(() => socket.terminate(), 10_000)
    const finish = (): void => {
      clearTimeout(giveUp)
      resolve(reported)
    }
    socket.on('message', (data) => {
      reported += `${data}\n`
    })
    socket.on('error', () => {})
    socket.on('unexpected-response', (_, response) => {
      reported += `${response.statusCode} ${response.statusMessage} ${JSON.stringify(response.headers)}\n`
      response.on('data', (data) => {
        reported += data
      })
      response.on('end', () => {
        socket.terminate()
        finish()
      })
    })
    socket.on('close', (code, reason) => {
      reported += `closed ${code} ${reason}`
      finish()
    })
  })
}
