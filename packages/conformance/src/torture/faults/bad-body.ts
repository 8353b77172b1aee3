import { type ClientFormat, statusIn } from '../../base/client-formats.ts'
import { objectOf, parseJson } from '../../base/json.ts'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { formatOf, wholeResponse } from '../../base/upstream-responses.ts'
import { type Check, variantName, variantsOf } from '../check.ts'
import { exchange } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'

const page = '<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>'
const json = 'application/json'
const events = 'text/event-stream'

/** Invalid responses with status 200. `streams: false`: a stream may begin with it. */
const bodies: Readonly<
  Record<string, { type?: string; streams?: false; body: string | ((format: Format) => string) }>
> = {
  'no body': { type: json, body: '' },
  'blanks only': { type: json, body: ' \n' },
  null: { type: json, body: 'null' },
  'a number': { type: json, body: '42' },
  'a text': { type: json, body: '"well"' },
  'an empty list': { type: json, streams: false, body: '[]' },
  'half a response': { type: json, body: (format) => JSON.stringify(wholeResponse[format]).slice(0, -20) },
  'two concatenated responses': { type: json, body: (format) => JSON.stringify(wholeResponse[format]).repeat(2) },
  'no JSON': { type: json, body: '{"choices": [}' },
  'random bytes': { type: json, body: '\u0000\u0001\ufffd\u001f{' },
  'a page': { type: 'text/html', body: page },
  'a web page declared as JSON': { type: json, body: page },
  'a web page without a content type': { body: page },
  'no events': { type: events, body: '' },
  'comments only': { type: events, body: ': one\n\n: two\n\n' },
  'a web page declared as events': { type: events, body: page },
}

/** The code of `upstream_bad_response` in dialects with codes. */
const codes: Readonly<Record<ClientFormat, unknown>> = {
  chat: 'upstream_bad_response',
  responses: 'upstream_bad_response',
  messages: undefined,
  gemini: 502,
  ollama: undefined,
  converse: undefined,
}

/** Invalid responses with status 200. */
export const badBody: Check = {
  row: 14,
  group: 'Faults',
  title: '200 with broken, empty, null, HTML body',
  promise: '502 `upstream_bad_response`',
  async run({ target, upstream, count }) {
    const cases = Object.entries(bodies).flatMap(([name, body]) =>
      variantsOf(target)
        .filter(({ stream }) => (stream ? body.streams !== false : body.type !== events))
        .map((way) => ({ name, body, way })),
    )
    const complaints: string[] = []
    const rounds = Array.from({ length: count(5, 1) }, () => cases).flat()
    await inParallel(rounds, 8, async ({ name, body: { type, body }, way }, place) => {
      const scene = upstream.play((call: UpstreamCall) => {
        const text = typeof body === 'string' ? body : body(formatOf(call))
        call.response.writeHead(200, {
          ...(type === undefined ? {} : { 'content-type': type }),
          // Half of them are chunked.
          ...(place % 2 === 0 ? { 'content-length': Buffer.byteLength(text) } : {}),
        })
        call.response.end(text)
      })
      const answer = await exchange(target, { ...way, text: scene.marker }, { withinMs: 10_000 })
      scene.end()
      const what = `${name}, ${variantName(way)}`
      if (answer.status !== statusIn(way.client, 502)) {
        complaints.push(`${what}: returned status ${answer.status || answer.broken}: ${answer.text.slice(0, 100)}`)
        return
      }
      const code = codes[way.client]
      if (readError(way.client, answer) === undefined) complaints.push(`${what}: not in the dialect`)
      else if (target.local !== undefined && objectOf(objectOf(parseJson(answer.text)).error).code !== code)
        complaints.push(`${what}: another code: ${answer.text.slice(0, 200)}`)
    })
    return {
      held: complaints.length === 0,
      figure: `${rounds.length - complaints.length}/${rounds.length} returned 502 upstream_bad_response (${Object.keys(bodies).length} kinds of bodies)`,
      notes: tally(complaints),
    }
  },
}
