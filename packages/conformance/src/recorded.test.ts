import { type Gateway, openaiCompatible } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { afterAll, describe, expect, test } from 'vitest'
import {
  type Exchange,
  haveRecordings,
  recordedExchanges,
  simpleRequest,
  type WireFormat,
  whyNoRecordings,
} from './fixtures.ts'
import { fetchOf, gatewayTo, requestTo } from './gateways.ts'
import { isObject, type JsonObject, listOf, objectOf, parseJson } from './json.ts'
import { type Answer, readRecording } from './reading.ts'
import { anthropicClient, askChat, askMessages, openaiClient, type Place } from './sdk.ts'
import { type ServedBytes, serveBytes } from './upstream-fetch.ts'

if (!haveRecordings) console.log(`recorded: ${whyNoRecordings}`)

/** These end their streams with the finish reason alone; a gateway is told so by a quirk of the upstream. */
const vendorsWithoutDone = new Set(['perplexity', 'gpustack'])

/** What a recording is good for: an answer to compare, an answer that broke and must stay broken, or neither. */
type Use = { kind: 'answer'; read: Answer } | { kind: 'broken'; why: string } | { kind: 'excluded'; why: string }

function useOf(exchange: Exchange): Use {
  const { features, method, stream, answer } = exchange
  if (features.has('concatenated_streams')) return { kind: 'excluded', why: 'several streams in one file' }
  if (method !== 'POST') return { kind: 'excluded', why: 'no generation call' }
  if (stream && (answer.match(/"type": ?"message_start"/g) ?? []).length > 1)
    return { kind: 'excluded', why: 'several messages in one stream' }
  if (stream && !/^(data|event|:)/m.test(answer)) return { kind: 'broken', why: 'documentation, no event stream' }
  const read = readRecording(exchange, vendorsWithoutDone.has(exchange.vendor))
  if (read !== undefined) return { kind: 'answer', read }
  return { kind: 'broken', why: stream ? 'ends in an error or not at all' : 'the body is no answer' }
}

const gatewayFor = (exchange: Exchange, fetch: ServedBytes['fetch']): Gateway =>
  gatewayTo(exchange.format, {
    fetch,
    ...(vendorsWithoutDone.has(exchange.vendor)
      ? { upstream: openaiCompatible({ baseURL: 'http://upstream.test/v1', quirks: { doneOptional: true } }) }
      : {}),
  })

const other = (format: WireFormat): WireFormat => (format === 'chat' ? 'messages' : 'chat')
const ask = (format: WireFormat, place: Place, body: JsonObject): Promise<Answer> =>
  format === 'chat' ? askChat(openaiClient(place), body) : askMessages(anthropicClient(place), body)

/** An SDK's outcome in a form that can be compared: the answer, or what it threw. */
const outcome = async (asked: Promise<Answer>): Promise<Answer | { failure: string }> => {
  try {
    return await asked
  } catch (error) {
    return { failure: error instanceof Error ? `${error.constructor.name}: ${error.message}` : String(error) }
  }
}

function expectSame(told: Answer | { failure: string }, read: Answer): void {
  if ('failure' in told) throw new Error(`the SDK failed with ${told.failure}`)
  // A format without refusals says them as text.
  expect(told.text + told.refusal).toBe(read.text + read.refusal)
  // Messages know no tools that take plain text: it travels as the only field of an object.
  expect(told.tools).toEqual(
    read.tools.map(({ name, input }) => ({ name, input: typeof input === 'string' ? { input } : input })),
  )
  expect(told.reasoning).toBe(read.reasoning)
  if (read.usage === undefined) return
  expect(told.usage?.output).toBe(read.usage.output)
  // One vendor counts more cached input than input; what the total is then, nobody knows.
  if ((read.usage.cacheRead ?? 0) <= read.usage.input) expect(told.usage?.input).toBe(read.usage.input)
  expect(told.usage?.cacheRead ?? 0).toBe(read.usage.cacheRead ?? 0)
  expect(told.usage?.reasoning ?? 0).toBe(read.usage.reasoning ?? 0)
}

/** The body of a recorded generation call; undefined where the recording kept none. */
const requestOf = ({ method, request }: Exchange): JsonObject | undefined =>
  method === 'POST' && isObject(request) ? request : undefined

/** What one format can say and the other cannot at all: such calls are refused before any upstream sees them. */
const refusals = [
  'messages gives one answer',
  'audio cannot be sent',
  'file that another provider stores',
  // a question of nothing but one vendor's own parts
  'nothing of this message can be carried',
]

const counts: Record<string, number> = {}
const count = (what: string): void => {
  counts[what] = (counts[what] ?? 0) + 1
}
const wrong: string[] = []
const check = async (name: string, exchange: Exchange, what: () => Promise<void>): Promise<void> => {
  try {
    await what()
    count(name)
  } catch (error) {
    wrong.push(`${name} ${exchange.path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
const expectNoneWrong = (): void => {
  const found = wrong.splice(0)
  expect(found.slice(0, 25), `${found.length} recordings came out wrong`).toEqual([])
}

describe.skipIf(!haveRecordings)('every recorded exchange', () => {
  const exchanges = haveRecordings ? recordedExchanges() : []

  afterAll(() => {
    const told = Object.entries(counts).map(([what, number]) => `${what} ${number}`)
    console.log(`recorded: ${exchanges.length} exchanges; ${told.join(' · ')}`)
  })

  test('the request passes validation, and the SDK reads on the wire lane what it reads from the provider', async () => {
    for (const exchange of exchanges) {
      const use = useOf(exchange)
      const recorded = requestOf(exchange)
      if (recorded === undefined) {
        count('without a recorded request')
        continue
      }
      const body: JsonObject = { ...recorded, stream: exchange.stream }
      if (typeof body.model !== 'string') {
        count('with the model in the URL only')
        body.model = 'recorded'
      }
      await check('own request on the wire lane', exchange, async () => {
        const served = serveBytes(exchange.answer, { stream: exchange.stream })
        const direct = await outcome(ask(exchange.format, { fetch: served.fetch }, body))
        const gateway = gatewayFor(exchange, served.fetch)
        const through = await outcome(ask(exchange.format, { fetch: fetchOf(gateway) }, body))
        if (served.received.length !== 2) {
          const refusal = await gateway.fetch(requestTo(exchange.format, JSON.stringify(body)))
          throw new Error(`refused: ${refusal.status} ${(await refusal.text()).slice(0, 300)}`)
        }
        if (use.kind === 'excluded') return
        if (use.kind === 'broken') {
          // What is no answer must not become one on its way. A JSON object passes as it is, whatever it says.
          if (exchange.stream) expect(through).toHaveProperty('failure')
          return
        }
        const { usage: shown, ...seen } = through as Answer
        const { usage: sent, ...expected } = direct as Answer
        expect(seen).toEqual(expected)
        const asked = objectOf(body.stream_options).include_usage === true
        if (!exchange.stream || exchange.format === 'messages' || asked || shown !== undefined)
          expect(shown).toEqual(sent)
      })
    }
    expectNoneWrong()
    expect(counts['own request on the wire lane']).toBeGreaterThan(1300)
  }, 120_000)

  test('the request is one that a provider of the other format takes, or it is refused here', async () => {
    const fake = createFakeProvider()
    for (const exchange of exchanges) {
      const recorded = requestOf(exchange)
      if (recorded === undefined) continue
      await check('own request in the other format', exchange, async () => {
        fake.reset()
        const gateway = gatewayTo(other(exchange.format), { fetch: fake.fetch as typeof fetch })
        const body = { ...recorded, model: recorded.model ?? 'recorded' }
        const answer = await gateway.fetch(requestTo(exchange.format, JSON.stringify(body)))
        const text = await answer.text()
        const sent = fake.requests[0]
        const reason = refusals.find((words) => text.includes(words))
        if (sent?.status === 200) expect(answer.status).toBe(200)
        else if (sent === undefined && answer.status === 400 && reason !== undefined)
          count(`of them refused: ${reason}`)
        else throw new Error(`${text.slice(0, 300)} for ${sent?.bodyText.slice(0, 600)}`)
      })
    }
    expectNoneWrong()
    expect(counts['own request in the other format']).toBeGreaterThan(1300)
  }, 120_000)

  test('the answer says the same to clients of both formats', async () => {
    for (const exchange of exchanges) {
      const use = useOf(exchange)
      if (use.kind === 'excluded') {
        count(`excluded: ${use.why}`)
        continue
      }
      for (const format of [exchange.format, other(exchange.format)] as const) {
        const served = serveBytes(exchange.answer, { stream: exchange.stream })
        const place = { fetch: fetchOf(gatewayFor(exchange, served.fetch)) }
        const request = simpleRequest(format, exchange.stream)
        if (use.kind === 'broken') {
          await check(`broken as it must be: ${use.why}`, exchange, async () => {
            const told = await outcome(ask(format, place, request))
            if (format !== exchange.format || exchange.stream) expect(told).toHaveProperty('failure')
          })
          continue
        }
        await check(`${exchange.format}→${format} ${exchange.stream ? 'streams' : 'bodies'}`, exchange, async () => {
          const told = await outcome(ask(format, place, request))
          if (format === exchange.format) {
            // On the wire lane a vendor's own dialect stays what it is: the SDK sees what it would see there.
            const direct = await outcome(ask(format, { fetch: served.fetch }, request))
            expect(told).toEqual(direct)
          } else {
            if (listOf(objectOf(parseJson(exchange.answer)).choices).length > 1) count('of them with further choices')
            expectSame(told, use.read)
          }
        })
      }
    }
    expectNoneWrong()
    for (const [name, floor] of Object.entries({
      'chat→chat bodies': 790,
      'chat→messages bodies': 790,
      'chat→chat streams': 175,
      'chat→messages streams': 175,
      'messages→messages bodies': 340,
      'messages→chat bodies': 340,
      'messages→messages streams': 75,
      'messages→chat streams': 75,
    }))
      expect(counts[name], name).toBeGreaterThan(floor)
  }, 120_000)
})
