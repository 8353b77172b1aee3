import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import type { ResponseContent } from '../base/content/content.ts'
import { fetchOf, requestTo } from '../base/gateways.ts'
import { type JsonObject, objectOf } from '../base/json.ts'
import {
  type Exchange,
  type Format,
  formats,
  fullRun,
  haveRecordings,
  patience,
  recordedExchanges,
  whyNoRecordings,
} from '../base/recorded-traffic.ts'
import { sendWithSdk } from '../base/sdk-clients.ts'
import { serveBytes } from '../base/upstream-fetch.ts'
import { createTally, expectSame, gatewayFor, requestOf, useOf } from './checks.ts'

if (!haveRecordings) console.log(`recorded: ${whyNoRecordings}`)

/** Returns an SDK's outcome in a comparable form: the response or the exception. */
const outcome = async (pending: Promise<ResponseContent>): Promise<ResponseContent | { failure: string }> => {
  try {
    return await pending
  } catch (error) {
    return { failure: error instanceof Error ? `${error.constructor.name}: ${error.message}` : String(error) }
  }
}

const { counts, count, check, expectNoneWrong } = createTally()

/** Recordings end after the last event. Servers add a blank line, without which some clients never see it. */
const bytesOf = ({ stream, answer }: Exchange): string => (stream ? `${answer.trimEnd()}\n\n` : answer)

/** Returns the reason if the SDK cannot read the response from any server. */
function unreadable(format: Format, { stream }: Exchange, read: ResponseContent): string | undefined {
  if (format === 'chat' && stream && read.tools.some(({ input }) => typeof input === 'string'))
    return 'calls of custom tools in a chat stream'
  if (format === 'gemini' && read.refusal !== '') return 'the reason of a generateContent refusal'
  return undefined
}

/** Returns the recorded request, or a small one for the SDK that writes its requests itself. */
function ownRequest({ format, stream, model = 'recorded', ...exchange }: Exchange): JsonObject | undefined {
  const recorded = requestOf({ format, stream, model, ...exchange })
  if (recorded === undefined || format === 'gemini') return recorded && simpleRequest(format, stream)
  return { ...recorded, model, stream }
}

describe.skipIf(!haveRecordings)('recorded exchanges', () => {
  const exchanges = haveRecordings ? recordedExchanges() : []

  // SDKs warn of models that are retired by now.
  beforeAll(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}))
  afterAll(() => {
    vi.restoreAllMocks()
    const reported = Object.entries(counts).map(([what, number]) => `${what} ${number}`)
    console.log(`recorded: ${exchanges.length} exchanges with the official SDKs; ${reported.join(' · ')}`)
  })

  test(
    'pass validation, and pass-through gives the SDK the same result as the provider',
    async () => {
      for (const exchange of exchanges) {
        const { format, stream } = exchange
        const use = useOf(exchange)
        const body = ownRequest(exchange)
        if (body === undefined) {
          count('without a recorded request')
          continue
        }
        await check(`own request of ${format}`, exchange, async () => {
          const served = serveBytes(bytesOf(exchange), { stream })
          const requested = { ...body, stream }
          const direct = await outcome(sendWithSdk(format, { fetch: served.fetch }, requested))
          const gateway = gatewayFor(exchange, served.fetch)
          const through = await outcome(sendWithSdk(format, { fetch: fetchOf(gateway) }, requested))
          if (served.received.length !== 2) {
            const refusal = await gateway.fetch(requestTo(format, JSON.stringify(body)))
            throw new Error(`refused: ${refusal.status} ${(await refusal.text()).slice(0, 300)}`)
          }
          if (use.kind === 'excluded') return
          if (use.kind === 'broken') {
            // An invalid response must not become a valid one. A JSON object passes unchanged.
            if (stream) expect(through).toHaveProperty('failure')
            return
          }
          const { usage: shown, ...seen } = through as ResponseContent
          const { usage: sent, ...expected } = direct as ResponseContent
          expect(seen).toEqual(expected)
          // The gateway requests usage of chat streams; a client that did not request it does not receive it.
          const asksForUsage = format !== 'chat' || objectOf(body.stream_options).include_usage === true
          if (!stream || asksForUsage || shown !== undefined) expect(shown).toEqual(sent)
        })
      }
      expectNoneWrong()
      for (const [format, floor] of Object.entries({ chat: 960, messages: 390, gemini: 555, responses: 455 }))
        expect(counts[`own request of ${format}`], format).toBeGreaterThan(floor)
    },
    patience,
  )

  test(
    'have the same content in the SDKs of all four formats',
    async () => {
      const core = new Set(recordedExchanges('CORE.tsv').map(({ path }) => path))
      for (const [at, exchange] of exchanges.entries()) {
        const use = useOf(exchange)
        if (use.kind === 'excluded') continue
        const { stream } = exchange
        // `answers.test.ts` reads bodies in all pairs. Here core exchanges are read by all SDKs, the others by one in turn.
        const clients = fullRun || core.has(exchange.path) ? formats : [formats[at % 4] ?? 'chat']
        for (const format of clients) {
          const served = serveBytes(bytesOf(exchange), { stream })
          const place = { fetch: fetchOf(gatewayFor(exchange, served.fetch)) }
          const request = simpleRequest(format, stream)
          if (use.kind === 'broken') {
            await check(`broken as expected: ${use.why}`, exchange, async () => {
              const reported = await outcome(sendWithSdk(format, place, { ...request, stream }))
              if (format !== exchange.format || stream) expect(reported).toHaveProperty('failure')
            })
            continue
          }
          const own = format === exchange.format
          const reason = own ? undefined : unreadable(format, exchange, use.read)
          if (reason !== undefined) {
            count(`unreadable for the SDK: ${reason}`)
            continue
          }
          await check(`${exchange.format}→${format} ${stream ? 'streams' : 'bodies'}`, exchange, async () => {
            const reported = await outcome(sendWithSdk(format, place, { ...request, stream }))
            if (own) {
              // In pass-through, a vendor's own dialect stays unchanged: the SDK has the same result as without the
              // gateway.
              expect(reported).toEqual(
                await outcome(sendWithSdk(format, { fetch: served.fetch }, { ...request, stream })),
              )
            } else if ('failure' in reported) throw new Error(`the SDK failed with ${reported.failure}`)
            else expectSame(reported, use.read)
          })
        }
      }
      expectNoneWrong()
      for (const [upstream, floor] of Object.entries({ chat: 180, messages: 75, gemini: 80, responses: 85 }))
        for (const client of formats)
          expect(counts[`${upstream}→${client} streams`], `${upstream}→${client}`).toBeGreaterThan(
            fullRun ? floor : floor / 5,
          )
    },
    patience,
  )
})
