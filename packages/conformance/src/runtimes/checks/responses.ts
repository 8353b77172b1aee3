import { type Format, formats } from '../../base/recorded-traffic.ts'
import { exchange, type TargetRequest } from '../../torture/client.ts'
import { allPairs } from '../../torture/local-target.ts'
import { type Case, type Check, type RuntimeTarget, tallyOf } from '../check.ts'

const name = 'get_weather'
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

const tools: Readonly<Record<Format, readonly object[]>> = {
  chat: [{ type: 'function', function: { name, parameters } }],
  messages: [{ name, input_schema: parameters }],
  gemini: [{ functionDeclarations: [{ name, parameters }] }],
  responses: [{ type: 'function', name, parameters }],
}

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const pixelUrl = `data:image/png;base64,${pixel}`
const look = 'What is this?'

/** A user message with an image. */
const shown: Readonly<Record<Format, object>> = {
  chat: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: look },
          { type: 'image_url', image_url: { url: pixelUrl } },
        ],
      },
    ],
  },
  messages: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: look },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        ],
      },
    ],
  },
  gemini: {
    contents: [{ role: 'user', parts: [{ text: look }, { inlineData: { mimeType: 'image/png', data: pixel } }] }],
  },
  responses: {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: look },
          { type: 'input_image', image_url: pixelUrl, detail: 'auto' },
        ],
      },
    ],
  },
}

type More = NonNullable<TargetRequest['more']>

/** Ordinary requests in each client's format. */
const scenes: Readonly<Record<string, (client: Format) => { readonly text: string; readonly more?: More }>> = {
  words: () => ({ text: '[[say:héllo wörld, 你好 🙂🙃 — and "quotes" \\ too]]' }),
  thinking: () => ({ text: '[[think]] [[words:30]]' }),
  tools: (client) => ({ text: `[[tool:${name} {"city":"Ålesund"}]]`, more: { tools: tools[client] } }),
  picture: (client) => ({ text: look, more: shown[client] as More }),
}

/** Failures that a gateway with default settings would retry. */
const failures: Readonly<Record<string, (client: Format) => Partial<TargetRequest> & { readonly text: string }>> = {
  limited: () => ({ text: '[[status:429 retry-after:7]]' }),
  broken: () => ({ text: '[[status:500]]' }),
  'broken in mid-stream': () => ({ text: '[[words:20]] [[error-event:overloaded_error after:5]]' }),
  'cut off': () => ({ text: '[[words:20]] [[cut after:5]]' }),
  stranger: () => ({ text: 'hello', headers: { authorization: 'Bearer unknown' } }),
  'without a body': () => ({ text: '', body: '{"half":' }),
}

const reported = /^(content-type|modelgate-(?!request-id).*|retry-after|x-should-retry|www-authenticate)$/

const idFields =
  /"(?:id|item_id|call_id|callId|tool_call_id|tool_use_id|response_id|responseId|request_id)": ?"([^"]+)"/g

/** Replaces generated ids by numbers and removes timestamps. */
function timeless(text: string): string {
  const ids = new Map<string, string>()
  for (const [, id = ''] of text.matchAll(idFields)) if (!ids.has(id)) ids.set(id, `"<id ${ids.size + 1}>"`)
  let plain = text
  for (const [id, stand] of ids) plain = plain.replaceAll(`"${id}"`, stand)
  return plain
    .replaceAll(/"(created|created_at|completed_at)": ?\d+/g, '"$1":0')
    .replaceAll(/"createTime": ?"[^"]*"/g, '"createTime":""')
}

/** Returns everything that a client sees, except for generated values. */
async function seen(place: RuntimeTarget, ask: TargetRequest, broken: boolean): Promise<string> {
  if (!broken) place.providers.reset()
  const { status, headers, text, broken: why } = await exchange(broken ? place.strict : place.withDefaults, ask)
  if (why !== undefined) throw new Error(why)
  const lines = Object.entries(headers).flatMap(([key, value]) => (reported.test(key) ? [`${key}: ${value}`] : []))
  return [String(status), ...lines.sort(), '', timeless(text)].join('\n')
}

const firstDifference = (one: string, other: string): string => {
  const [ours, theirs] = [one.split('\n'), other.split('\n')]
  const at = ours.findIndex((line, place) => line !== theirs[place])
  return `${JSON.stringify(ours[at]?.slice(0, 300))} instead of ${JSON.stringify(theirs[at]?.slice(0, 300))}`
}

function casesAt(place: RuntimeTarget): Case[] {
  const ways = allPairs.flatMap((pair) => [false, true].map((stream) => ({ ...pair, stream })))
  const all = [
    ...Object.entries(scenes).map((one) => [...one, false] as const),
    ...Object.entries(failures).map((one) => [...one, true] as const),
  ]
  return all.flatMap(([scene, make, broken]) =>
    ways.map((way): Case => {
      const title = `${scene}, ${way.client} from ${way.upstream}${way.stream ? ', streamed' : ''}`
      return {
        name: title,
        async ask() {
          const answer = await seen(place, { ...way, ...make(way.client) }, broken)
          const wanted = place.reference.get(title)
          if (wanted !== undefined) return answer === wanted ? undefined : firstDifference(answer, wanted)
          place.reference.set(title, answer)
          return undefined
        },
      }
    }),
  )
}

/** Responses are the same in every runtime. */
export const responses: Check = {
  name: 'responses',
  promise: `responses to ${formats.length} client formats from ${formats.length} kinds of upstream, as JSON and streamed, complete and broken: byte for byte like on Node, except for ids and times`,
  // Sequential, because each case resets the provider to get the same response.
  run: (place) => tallyOf(casesAt(place), 1),
}
