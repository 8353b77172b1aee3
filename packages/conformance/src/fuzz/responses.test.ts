import { createFakeProvider } from '@modelgate/testing'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  blamesClient,
  type ClientFormat,
  clientFormatRows,
  clientFormats,
  simpleRequest,
} from '../base/client-formats.ts'
import { requestTo, upstreamKey } from '../base/gateways.ts'
import { isObject, type Json, parseJson } from '../base/json.ts'
import { formats, haveRecordings, recordedExchanges } from '../base/recorded-traffic.ts'
import { errorEvent } from '../base/streams.ts'
import { wholeResponse } from '../base/upstream-responses.ts'
import { mutateBytes } from './byte-mutations.ts'
import { type FuzzedFormat, fuzzGateway } from './gateway.ts'
import { mutateJson, type Node, nodeOf, pick, type Step } from './json-mutations.ts'
import { errorDefect, internalLeak } from './oracle.ts'
import { choice, playRecipes, rarely, stepsUpTo } from './recipes.ts'
import { type FuzzRequest, requestBases, requestOf } from './requests.ts'
import { richAnswers } from './responses.ts'
import { excludeFromTiming, fuzz, fuzzPatience, longRun, settled, watchProcess, withFacts } from './runs.ts'
import { withUnprintableValues } from './unprintable-values.ts'
import { type Play, type PlayRecipe, playOf, sentBytes } from './upstream.ts'

watchProcess()

const under = fuzzGateway()
const decoder = new TextDecoder()
const encoder = new TextEncoder()

interface Recipe {
  readonly base: number
  readonly client: number
  readonly steps: readonly Step[]
  readonly bytes: readonly Step[]
  readonly play: PlayRecipe
}
const none: Recipe = { base: 0, client: 0, steps: [], bytes: [], play: { head: [], cuts: 0, ending: 0 } }
const recipes: fc.Arbitrary<Recipe> = fc.record({
  base: choice,
  client: choice,
  steps: stepsUpTo(4),
  bytes: rarely(stepsUpTo(2), [], 3),
  play: playRecipes(3),
})

/** Errors as each format's servers write them, with a secret that must not leak. */
const failures = formats.map((format) => ({
  format,
  body: nodeOf(
    parseJson(
      errorEvent[format]
        .replace(/^event.*\n/, '')
        .replace('data: ', '')
        .replace('Boom', upstreamKey),
    ) ?? null,
  ),
}))
/** The short run uses no recordings, so that it is the same everywhere. */
const recorded =
  longRun && haveRecordings
    ? recordedExchanges('CORE.tsv')
        .filter(({ stream, answer }) => !stream && answer.length < 6000)
        .map(({ format, answer }) => ({ format, body: nodeOf(parseJson(answer) ?? null) }))
    : []
const bases: readonly { readonly format: FuzzedFormat; readonly body: Node }[] = [
  ...richAnswers.converse.map((body) => ({ format: 'converse' as const, body: nodeOf(body) })),
  { format: 'converse', body: nodeOf({ message: `${upstreamKey} at the provider`, __type: 'x#ThrottlingException' }) },
  ...formats.map((format) => ({ format, body: nodeOf(wholeResponse[format] as Json) })),
  ...formats.flatMap((format) => richAnswers[format].map((body) => ({ format, body: nodeOf(body) }))),
  ...failures,
  ...recorded,
]

interface Came {
  readonly status: number
  readonly type: string
  readonly bytes: Uint8Array
  readonly text: string
  readonly name: string
}
async function ask(request: Request): Promise<Came> {
  const response = await under.gateway.fetch(request)
  const bytes = new Uint8Array(await response.arrayBuffer())
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    bytes,
    text: decoder.decode(bytes),
    name: response.headers.get('x-amzn-errortype') ?? '',
  }
}

/** Returns true if the upstream sent a complete JSON object. */
function isWhole(play: Play): boolean {
  if (typeof play.ending === 'object' || play.ending === 'hang') return false
  return isObject(parseJson(decoder.decode(sentBytes(play))))
}

function judge(client: ClientFormat, upstream: FuzzedFormat, play: Play, came: Came): string | undefined {
  const { status } = play
  if (came.status !== 200) {
    if (status === 401 && blamesClient(client, came.status)) return `an upstream's 401 became ${came.status}`
    const ownFault =
      (status >= 400 && status < 500) || /rror|fail|message|detail|code|SAFETY|BLOCK/i.test(decoder.decode(play.bytes))
    return errorDefect(client, came, ownFault)
  }
  if (status < 200 || status > 299) return `an upstream's ${status} became 200`
  if (!isWhole(play)) return 'an invalid response became a successful one'
  const body = parseJson(came.text)
  if (!isObject(body)) return 'the response is not a JSON object'
  if (client !== upstream && !clientFormatRows[client].isResponse(body)) return 'the response is not in the dialect'
  return undefined
}

function tryAnswer({ base, client, steps, bytes, play }: Recipe): Promise<string | undefined> {
  const { format, body } = pick(bases, base)
  const answer = excludeFromTiming(() => playOf(mutateBytes(mutateJson(body, steps), bytes), play, 'application/json'))
  return tryPlay(pick(clientFormats, client), format, answer)
}

async function tryPlay(client: ClientFormat, format: FuzzedFormat, play: Play): Promise<string | undefined> {
  under.begin(play)
  const request = JSON.stringify(simpleRequest(client, false)).replace('"recorded"', `"${format}-model"`)
  const came = await settled(ask(requestTo(client, request, {}, { model: `${format}-model` })))
  return excludeFromTiming(() => {
    const complaint =
      judge(client, format, play, came) ??
      internalLeak(came.text, [...(came.status === 200 ? [] : [upstreamKey]), 'upstream.test', '10.0.0.7']) ??
      under.accountingDefect(true)
    const { bytes, ...how } = play
    return withFacts(
      complaint && `${client} from ${format}: ${complaint}`,
      JSON.stringify(how),
      decoder.decode(bytes),
      `${came.status} ${came.text}`,
    )
  })
}

/** Valid responses of operations other than generation. */
interface OperationBase {
  readonly request: FuzzRequest
  readonly type: string
  readonly body: Node | Uint8Array
}
const operationBases: OperationBase[] = []

async function findOperations(): Promise<void> {
  const provider = createFakeProvider({ validate: false })
  const all = requestBases((name) => `${name}-model`, true)
  const seen = new Set<string>()
  for (let base = 0; base < all.length; base++) {
    const request = requestOf(all, { base, steps: [], bytes: [], head: [] })
    const { path, upstream, generates } = request
    if (generates || !(formats as readonly string[]).includes(upstream) || seen.has(`${path} ${upstream}`)) continue
    seen.add(`${path} ${upstream}`)
    let given: { type: string; bytes: Uint8Array } | undefined
    under.forwardTo(async (input, init) => {
      const response = await provider.fetch(input, init)
      const bytes = new Uint8Array(await response.arrayBuffer())
      const type = response.headers.get('content-type') ?? ''
      given = { type, bytes }
      return new Response(bytes, { status: response.status, headers: { 'content-type': type } })
    })
    await ask(operationRequest(request))
    if (given === undefined) continue
    const value = parseJson(decoder.decode(given.bytes))
    operationBases.push({ request, type: given.type, body: value === undefined ? given.bytes : nodeOf(value) })
  }
}

const operationRequest = ({ path, headers, body }: FuzzRequest): Request =>
  new Request(`http://gateway.test${path}`, { method: 'POST', headers: { ...headers }, body: body as BodyInit })

async function tryOperation(recipe: Recipe): Promise<string | undefined> {
  const { request, type, body } = pick(operationBases, recipe.base)
  const play = excludeFromTiming(() => {
    const raw = body instanceof Uint8Array ? body : encoder.encode(mutateJson(body, recipe.steps))
    return playOf(mutateBytes(raw, recipe.bytes), recipe.play, type)
  })
  under.begin(play)
  let broke = false
  const came = await settled(
    ask(operationRequest(request)).catch((error: unknown): Came => {
      // Bytes that pass through have no place for an error: the client's connection breaks like the upstream's.
      if (typeof play.ending === 'object' || play.ending === 'hang') broke = true
      else throw error
      return { status: 200, type: '', bytes: new Uint8Array(0), text: '', name: '' }
    }),
  )
  return excludeFromTiming(() => {
    const { status } = play
    const text = decoder.decode(play.bytes)
    const ownFault = (status >= 400 && status < 500) || /rror|fail|message|detail|code|SAFETY|BLOCK/i.test(text)
    const countsHere = request.path.includes('ount') || request.path.includes('input_tokens')
    const complaint =
      (came.status !== 200 && came.status !== 501 ? errorDefect(request.dialect, came, ownFault) : undefined) ??
      (came.status === 200 && came.type.includes('application/json') && !broke && !isObject(parseJson(came.text))
        ? 'the response is not a JSON object'
        : undefined) ??
      internalLeak(came.text, ['upstream.test', '10.0.0.7']) ??
      under.accountingDefect(!countsHere)
    const { bytes: _, ...how } = play
    return withFacts(
      complaint && `${request.path} from ${request.upstream}: ${complaint}`,
      JSON.stringify(how),
      text,
      `${came.status} ${came.text}`,
    )
  })
}

beforeAll(async () => {
  for (let base = 0; base < bases.length; base++)
    for (let client = 0; client < clientFormats.length; client++) await tryAnswer({ ...none, base, client })
  await settled(findOperations())
}, 60_000)

describe('responses', () => {
  test(
    'of generation are translated or reported as an error for fuzzed input',
    () => fuzz('answers', recipes, tryAnswer, 1500),
    fuzzPatience,
  )
  test('of generation may contain an object without a primitive form at any place without an exception', async () => {
    const found: string[] = []
    let nth = 0
    // Each place is tested with two of the clients, in rotation.
    for (const { format, body } of bases.slice(0, bases.length - recorded.length))
      for (const { body: spoilt, place } of withUnprintableValues(encoder.encode(mutateJson(body, []))))
        for (const client of [pick(clientFormats, nth), pick(clientFormats, nth++ + 2)]) {
          const wrong = await tryPlay(client, format, playOf(spoilt, none.play, 'application/json'))
          if (wrong !== undefined) found.push(`${place}: ${wrong}`)
        }
    expect(found).toEqual([])
  }, 240_000)
  test(
    'of other operations are passed on or reported as an error for fuzzed input',
    () => fuzz('responses of operations', recipes, tryOperation, 1000),
    fuzzPatience,
  )
})
