import { afterAll, describe, expect, test } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import { readRecording } from '../base/content/recording.ts'
import { requestTo } from '../base/gateways.ts'
import { listOf, objectOf, parseJson } from '../base/json.ts'
import {
  type Exchange,
  type Format,
  formats,
  fullRun,
  haveRecordings,
  patience,
  recordedExchanges,
} from '../base/recorded-traffic.ts'
import { serveBytes } from '../base/upstream-fetch.ts'
import { createTally, expectSame, gatewayFor, useOf } from './checks.ts'

const { counts, count, check, expectNoneWrong } = createTally()

const floors: Readonly<Record<Format, { bodies: number; streams: number }>> = {
  chat: { bodies: 790, streams: 180 },
  messages: { bodies: 340, streams: 75 },
  gemini: { bodies: 515, streams: 80 },
  responses: { bodies: 400, streams: 85 },
}

/** Returns the client's response if the upstream returns the recording. */
async function clientResponse(exchange: Exchange, format: Format): Promise<{ status: number; text: string }> {
  const { stream } = exchange
  const served = serveBytes(exchange.answer, { stream })
  const answer = await gatewayFor(exchange, served.fetch).fetch(
    requestTo(format, JSON.stringify(simpleRequest(format, stream)), {}, { stream }),
  )
  return { status: answer.status, text: await answer.text() }
}

describe.skipIf(!haveRecordings)('recorded responses', () => {
  const exchanges = haveRecordings ? recordedExchanges() : []
  afterAll(() => {
    const lines = Object.entries(counts).map(([what, number]) => `${what} ${number}`)
    console.log(`recorded answers: ${exchanges.length} exchanges; ${lines.join(' · ')}`)
  })

  test(
    'have the same content for clients of all four formats',
    async () => {
      for (const [at, exchange] of exchanges.entries()) {
        const use = useOf(exchange)
        if (use.kind === 'excluded') {
          count(`excluded: ${use.why}`)
          continue
        }
        // Streams for clients of all formats; other responses for their own format and one of the others in turn.
        const clients =
          fullRun || exchange.stream
            ? formats
            : formats.filter((format, nth) => format === exchange.format || nth === at % formats.length)
        for (const format of clients) {
          const own = format === exchange.format
          if (use.kind === 'broken') {
            await check(`broken as expected: ${use.why}`, exchange, async () => {
              const { status, text } = await clientResponse(exchange, format)
              const read = readRecording({ format, stream: exchange.stream, answer: text })
              // In pass-through, a JSON object stays unchanged, whatever its content.
              if (!own || exchange.stream) expect([status, read]).toEqual([status, undefined])
            })
            continue
          }
          await check(`${exchange.format}→${format} ${exchange.stream ? 'streams' : 'bodies'}`, exchange, async () => {
            const { status, text } = await clientResponse(exchange, format)
            if (own && !exchange.stream) expect(text).toBe(exchange.answer)
            const read = readRecording({ format, stream: exchange.stream, answer: text }, own)
            if (read === undefined) throw new Error(`no response: ${status} ${text.slice(-300)}`)
            expectSame(read, use.read)
            if (listOf(objectOf(parseJson(exchange.answer)).choices).length > 1) count('of them with further choices')
          })
        }
      }
      expectNoneWrong()
      for (const upstream of formats)
        for (const client of formats)
          for (const [what, floor] of Object.entries(floors[upstream]))
            expect(counts[`${upstream}→${client} ${what}`], `${upstream}→${client} ${what}`).toBeGreaterThan(
              fullRun || what === 'streams' || client === upstream ? floor : floor / 5,
            )
    },
    patience,
  )
})
