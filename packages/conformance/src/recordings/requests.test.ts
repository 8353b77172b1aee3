import type { FinishEvent, Loss } from '@modelgate/core'
import { codecOf } from '@modelgate/core/test-support'
import { createFakeProvider } from '@modelgate/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { gatewayTo, requestTo } from '../base/gateways.ts'
import { isObject, type Json, type JsonObject, objectOf, parseJson } from '../base/json.ts'
import {
  clientRequests,
  type Format,
  formats,
  fullRun,
  haveRecordings,
  patience,
  recordedExchanges,
  whyNoRecordings,
} from '../base/recorded-traffic.ts'
import { createTally, requestOf } from './checks.ts'
import { unaccounted } from './unaccounted-fields.ts'

if (!haveRecordings) console.log(`recorded requests: ${whyNoRecordings}`)

const { counts, count, check, expectNoneWrong } = createTally()
const exchanges = haveRecordings ? [...recordedExchanges(), ...clientRequests()] : []
const checkedRequests = exchanges.flatMap((exchange) => {
  const body = requestOf(exchange)
  // The SDK learns that threads are not stored here, and sends the whole conversation next.
  return body === undefined || body.thread !== undefined ? [] : [{ exchange, body }]
})

const floors: Readonly<Record<Format, number>> = { chat: 1010, messages: 450, gemini: 605, responses: 530 }

/** The model's name at the gateway differs from the upstream's. */
const alias = 'name-for-clients'
const upstreamName = 'name-of-the-upstream'
/** Gemini may repeat the model in the body, with the collection as a prefix. */
const withModel = (format: Format, body: JsonObject, model: string): JsonObject =>
  format !== 'gemini'
    ? { ...body, model }
    : typeof body.model === 'string'
      ? { ...body, model: `models/${model}` }
      : body

/** Real models of the vendors, so that the codecs' knowledge of models applies. */
const models: Readonly<Record<Format, string>> = {
  chat: 'gpt-5.2',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-3-flash-preview',
  responses: 'gpt-5.2',
}

/** JSON with whitespace that the gateway's serialiser never writes. */
const oddly = (body: JsonObject): string => JSON.stringify(body, null, '\t').replaceAll('/', '\\/')

/** Usage of chat streams is requested even if the client did not. */
const metered = (format: Format, body: JsonObject): boolean =>
  format === 'chat' && body.stream === true && objectOf(body.stream_options).include_usage !== true
const withoutMetering = (text: string): string =>
  text.replace(/,?\s*"stream_options":\s*(null|\{[^}]*\})/, '').replace(/\s+\}$/, '}')

describe.skipIf(!haveRecordings)('recorded requests', () => {
  afterAll(() => {
    const lines = Object.entries(counts).map(([what, number]) => `${what} ${number}`)
    console.log(`recorded requests: ${exchanges.length} exchanges; ${lines.join(' · ')}`)
  })

  test(
    'reach their own format byte for byte, except for the model’s name',
    async () => {
      for (const { exchange, body } of checkedRequests) {
        const { format, stream } = exchange
        await check(`${format}, same bytes`, exchange, async () => {
          const sent: { url: string; text: string }[] = []
          const gateway = gatewayTo(format, {
            models: { '*': { upstream: 'up', model: upstreamName } },
            fetch: async (input, init) => {
              sent.push({ url: String(input), text: new TextDecoder().decode(await bytesOf(init?.body)) })
              throw new TypeError('no upstream in this test')
            },
          })
          const text = oddly(withModel(format, body, alias))
          const answer = await gateway.fetch(requestTo(format, text, {}, { model: alias, stream }))
          const [first] = sent
          if (first === undefined) throw new Error(`refused: ${answer.status} ${(await answer.text()).slice(0, 300)}`)
          const expected = oddly(withModel(format, body, upstreamName)).replace(
            `models\\/${upstreamName}`,
            `models/${upstreamName}`,
          )
          if (metered(format, body)) {
            count('of them metered')
            expect(withoutMetering(first.text)).toBe(withoutMetering(expected))
            expect(objectOf(objectOf(parseJson(first.text)).stream_options).include_usage).toBe(true)
          } else expect(first.text).toBe(expected)
          if (format === 'gemini') expect(first.url).toContain(`/${upstreamName}:`)
        })
      }
      expectNoneWrong()
      for (const [format, floor] of Object.entries(floors))
        expect(counts[`${format}, same bytes`], format).toBeGreaterThan(floor)
    },
    patience,
  )

  test.each(formats)(
    'of %s are valid for providers of the other formats, or are rejected by the gateway',
    async (format) => {
      const fake = createFakeProvider()
      const finished: FinishEvent[] = []
      const others = formats.filter((other) => other !== format)
      for (const upstream of others) {
        const gateway = gatewayTo(upstream, {
          models: { '*': { upstream: 'up', model: models[upstream] } },
          fetch: fake.fetch as typeof fetch,
          plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
        })
        // Without MODELGATE_FULL=1 each request goes to one of the other formats in turn.
        const turn = others.indexOf(upstream)
        const requests = checkedRequests
          .filter(({ exchange }) => exchange.format === format)
          .filter((_, at) => fullRun || at % others.length === turn)
        for (const { exchange, body } of requests)
          await check(`${format}→${upstream}`, exchange, async () => {
            fake.reset()
            finished.length = 0
            const { stream, model = 'recorded' } = exchange
            const text = JSON.stringify(withModel(format, body, model))
            const answer = await gateway.fetch(requestTo(format, text, {}, { model, stream }))
            const reported = await answer.text()
            const { losses = [] } = finished[0] ?? {}
            expectPlaces(losses, body)
            const sent = fake.requests[0]
            if (sent?.status === 200) {
              expect(answer.status).toBe(200)
              const value = objectOf(parseJson(sent.bodyText))
              codecOf(upstream).validateRequest({
                ...value,
                ...(upstream === 'gemini' ? { model: models.gemini, stream } : {}),
              })
              const missing = unaccounted({ ...body, model: '' }, value, losses, 4)
              if (missing.length > 0) throw new Error(`neither sent nor reported: ${JSON.stringify(missing)}`)
              return
            }
            if (sent !== undefined && unanswered.test(reported)) {
              count('of them with an unanswered tool call')
              return
            }
            const reason = refusals.map((words) => words.exec(reported)?.[0]).find((words) => words !== undefined)
            if (sent === undefined && answer.status === 400 && reason !== undefined)
              count(`of them rejected: ${reason}`)
            else throw new Error(`${answer.status} ${reported.slice(0, 300)} for ${sent?.bodyText.slice(0, 600)}`)
          })
      }
      expectNoneWrong()
      for (const upstream of others)
        expect(counts[`${format}→${upstream}`], `${format}→${upstream}`).toBeGreaterThan(
          floors[format] / (fullRun ? 1 : 4),
        )
    },
    patience,
  )
})

/** Features that one format has and another cannot express: such calls are rejected before any upstream is called. */
const refusals: readonly RegExp[] = [
  /(messages|responses) returns one response/,
  /audio cannot be sent/,
  /[Vv]ideo cannot be sent/,
  /Audio by URL cannot be sent/,
  /A document URL cannot be sent in a chat message/,
  /a document of the type [^ ]*officedocument[^ ]* cannot be sent in a messages request/,
  /file that another provider stores/,
  /is stored at another provider/,
  /Previous response with id/,
  /the compacted part of the conversation can be read only by its issuer/,
  /a background response needs a server that stores it/,
  // a message that consists of one vendor's own parts
  /no part of this message can be sent/,
]

/**
 * A tool call without its result, which older models of one format accepted. Its newer models reject it like all
 * others.
 */
const unanswered =
  /must be followed by tool messages|ids were found without `tool_result` blocks|No tool output found for function call/

/** Losses of fields that the client did not send: an added default, or a filled gap. */
const aboutNothing: readonly RegExp[] = [
  /^(Anthropic|thinking) requires max_?[tT]okens/,
  /^a conversation must begin with a user message: '.' is put in front$/,
]

/** A report without a place is useless. */
function expectPlaces(losses: readonly Loss[], body: JsonObject): void {
  const astray = losses.filter(
    ({ path, side, detail }) =>
      side === undefined && valueAt(body, path) === undefined && !aboutNothing.some((words) => words.test(detail)),
  )
  expect(astray).toEqual([])
}

function valueAt(body: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of path.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    value = Array.isArray(value) ? value[Number(name)] : isObject(value) ? value[name] : undefined
  }
  return value
}

const bytesOf = async (body: unknown): Promise<Uint8Array> =>
  typeof body === 'string'
    ? new TextEncoder().encode(body)
    : new Uint8Array(await new Response(body as BodyInit).arrayBuffer())
