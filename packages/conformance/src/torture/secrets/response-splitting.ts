import type { IncomingMessage } from 'node:http'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import { hostileResponses, judgeResponses, keptAlive, sendInTurn } from '../../protocols/response-splitting.ts'
import type { Check, Target } from '../check.ts'
import { tally } from '../measurements.ts'

/** Responds to a download with the hostile response that its input names. */
async function answerHostile({ socket }: UpstreamCall, incoming: IncomingMessage): Promise<void> {
  let text = ''
  for await (const part of incoming) text += part
  const { input } = JSON.parse(text) as { input: string }
  socket.end(hostileResponses[input] ?? '')
}

/** A body with a wrong length must not become the next response on a client's connection. */
export const responseSplitting: Check = {
  row: 51,
  group: 'Isolation',
  title: 'Response splitting',
  promise:
    'whatever lengths, encodings and content types a hostile upstream sends, the next response on a connection belongs to the next call',
  perServer: true,
  async run({ target, upstream, fresh }) {
    if (target.local === undefined)
      return { skipped: `${target.name} needs a model for speech, which only its owner can configure` }
    const byFetch = await fresh({ fetch: 'global' })
    const targets: readonly (readonly [string, Target])[] = [
      ['the adapter’s transport', target],
      ...(byFetch === undefined ? [] : [['fetch', byFetch] as const]),
    ]
    const scene = upstream.play(sendGoodResponse)
    const end = upstream.playAt('/v1/audio/speech', answerHostile)
    const complaints: string[] = []
    let total = 0
    try {
      for (const [transport, one] of targets)
        for (const input of Object.keys(hostileResponses)) {
          total++
          const model = one.model('chat')
          const headers = one.headers({ client: 'chat', upstream: 'chat' })
          const bytes = await sendInTurn(one.origin, [
            keptAlive('/v1/audio/speech', headers, { model, input, voice: 'alloy' }),
            keptAlive('/v1/chat/completions', headers, { model, messages: [{ role: 'user', content: scene.marker }] }),
          ])
          const wrong = judgeResponses(bytes, 'one two three')
          if (wrong !== undefined) complaints.push(`${transport}, ${input}: ${wrong}`)
        }
    } finally {
      end()
      scene.end()
    }
    return {
      held: complaints.length === 0,
      figure: `${total - complaints.length}/${total} hostile downloads with ${targets.length} transports left the next response intact`,
      notes: tally(complaints),
    }
  },
}
