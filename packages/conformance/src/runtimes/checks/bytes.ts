import { formats } from '../../base/recorded-traffic.ts'
import { oddRequest, oddResponse, oddStream } from '../../base/unusual-json.ts'
import { exchange, type TargetRequest } from '../../torture/client.ts'
import { type Case, type Check, type RuntimeTarget, tallyOf } from '../check.ts'

/** The size of a conversation with a few images. */
const largeBytes = 3_000_000

async function passes(
  { providers, withDefaults }: RuntimeTarget,
  ask: TargetRequest,
  body: string,
): Promise<string | undefined> {
  providers.reset()
  providers.on({}, { raw: { body } })
  try {
    const { status, text } = await exchange(withDefaults, ask)
    if (status !== 200) return `returned status ${status}: ${text.slice(0, 200)}`
    if (text !== body) return `the response is ${JSON.stringify(text.slice(0, 300))}`
    return providers.requests.at(-1)?.bodyText === ask.body ? undefined : 'the upstream received another body'
  } finally {
    providers.reset()
  }
}

/** Sends megabytes in both directions: the provider echoes. */
async function passesLarge(
  { providers, withDefaults }: RuntimeTarget,
  ask: TargetRequest,
): Promise<string | undefined> {
  providers.reset()
  const { status, text } = await exchange(withDefaults, ask, { withinMs: 60_000 })
  if (status !== 200) return `returned status ${status}: ${text.slice(0, 200)}`
  const got = providers.requests.at(-1)?.bodyText.length ?? 0
  providers.reset()
  return got >= largeBytes ? undefined : `only ${got} bytes reached the upstream`
}

const casesAt = (place: RuntimeTarget): Case[] =>
  formats.flatMap((format): Case[] => {
    const ask = { client: format, upstream: format, text: '' }
    const other = formats[(formats.indexOf(format) + 1) % formats.length] ?? format
    const large = { text: `[[say:ok]] ${'x'.repeat(largeBytes)}` }
    return [
      {
        name: `${format}, JSON`,
        ask: () => passes(place, { ...ask, body: oddRequest(format, `${format}-model`) }, oddResponse[format]),
      },
      {
        name: `${format}, streamed`,
        ask: () => {
          const body = oddRequest(format, `${format}-model`).replace(/^\{/, streaming[format])
          return passes(place, { ...ask, stream: true, body }, oddStream[format])
        },
      },
      { name: `${format}, 3 MB`, ask: () => passesLarge(place, { ...ask, ...large }) },
      { name: `${format} from ${other}, 3 MB`, ask: () => passesLarge(place, { ...ask, upstream: other, ...large }) },
    ]
  })

const streaming = {
  chat: '{"stream":true,"stream_options":{"include_usage":true},',
  messages: '{"stream":true,',
  // The path selects streaming.
  gemini: '{',
  responses: '{"stream":true,',
}

/** Pass-through keeps every byte. */
export const bytes: Check = {
  name: 'bytes',
  promise:
    'client and upstream of the same format: request and response pass byte for byte; bodies of 3 MB pass, in translation too',
  run: (place) => tallyOf(casesAt(place), 1),
}
