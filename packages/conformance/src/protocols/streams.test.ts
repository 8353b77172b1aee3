// Isolated: compares generated identifiers, which other files of the same process draw from as well.

import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sendWithClient } from '../base/all-clients.ts'
import { type ClientFormat, clientFormats, simpleRequest } from '../base/client-formats.ts'
import { fetchOf, gatewayTo } from '../base/gateways.ts'
import {
  type Exchange,
  formats,
  fullRun,
  haveRecordings,
  patience,
  recordedExchanges,
  whyNoRecordings,
} from '../base/recorded-traffic.ts'
import {
  createPicker,
  eventEnds,
  fetchStream,
  onlyError,
  successClaims,
  terminalAt,
  transportOf,
} from '../base/stream-checks.ts'
import { withoutTimes } from '../base/times.ts'
import { serveBytes } from '../base/upstream-fetch.ts'
import { useOf } from '../recordings/checks.ts'

if (!haveRecordings) console.log(`streams: ${whyNoRecordings}`)

const utf8 = new TextEncoder()
const counts = { oneByte: 0, twoParts: 0, lineEnds: 0, eventCuts: 0, byteCuts: 0, thrown: 0 }
const smallBytes = 800

/** Streams of one complete response with its terminal event. `recordings/pass-through.test.ts` covers other endings. */
const streams = (index: 'INDEX.tsv' | 'CORE.tsv'): Exchange[] =>
  recordedExchanges(index).filter(
    (exchange) =>
      exchange.stream &&
      !exchange.features.has('stream_error') &&
      useOf(exchange).kind === 'answer' &&
      terminalAt(utf8.encode(exchange.answer), exchange.format) >= 0,
  )

const each = <F extends ClientFormat, T>(every: readonly F[], make: (format: F) => T): Record<F, T> =>
  Object.fromEntries(every.map((format) => [format, make(format)])) as Record<F, T>
const gateways = each(formats, (format) => gatewayTo(format))
const requests = each(clientFormats, (format) => JSON.stringify(simpleRequest(format, true)))
async function through(exchange: Exchange, client: ClientFormat, ...cut: Parameters<typeof transportOf>) {
  const answer = await fetchStream(gateways[exchange.format], client, requests[client], transportOf(...cut))
  return { ...answer, text: withoutTimes(answer.text) }
}
async function expectOnlyError(exchange: Exchange, client: ClientFormat, bytes: Uint8Array): Promise<void> {
  const answer = await through(exchange, client, bytes)
  try {
    onlyError(client, answer)
  } catch (error) {
    throw new Error(
      `${exchange.path} cut at ${bytes.length} for ${client}: ${String(error)}\n${answer.text.slice(-800)}`,
    )
  }
}
const ask = (format: ClientFormat, fetch: typeof globalThis.fetch): Promise<unknown> =>
  sendWithClient(format, { fetch }, { ...simpleRequest(format, true), stream: true })

describe.skipIf(!haveRecordings)('recorded streams', () => {
  const core = new Set(haveRecordings ? streams('CORE.tsv').map(({ path }) => path) : [])
  const all = haveRecordings ? streams('INDEX.tsv') : []
  const pick = createPicker(42)
  /** Clients of all formats for core streams, one rotating client for each other stream. */
  const clientsOf = (exchange: Exchange, at: number): readonly ClientFormat[] =>
    fullRun || core.has(exchange.path) ? clientFormats : [clientFormats[at % clientFormats.length] ?? 'chat']

  beforeEach(() => {
    // Generated ids would differ between runs.
    vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
      if (array instanceof Uint8Array) array.fill(7)
      return array
    })
  })
  afterEach(() => vi.restoreAllMocks())
  afterAll(() =>
    console.log(
      `streams: ${all.length} recorded streams, ${core.size} of them for clients of all ${clientFormats.length} formats: ${counts.oneByte} read byte by byte, ${counts.twoParts} splits in two,` +
        `${counts.lineEnds} with other line ends; ${counts.eventCuts} cut after an event, ${counts.byteCuts} after a byte,` +
        `${counts.thrown} times an SDK threw`,
    ),
  )

  test(
    'produce the same output however their bytes are split',
    async () => {
      for (const [at, exchange] of all.entries()) {
        const bytes = utf8.encode(exchange.answer)
        for (const client of clientsOf(exchange, at)) {
          const whole = await through(exchange, client, bytes)
          const same = async (what: string, ...cut: [Uint8Array, (number | number[])?]): Promise<void> => {
            const answer = await through(exchange, client, ...cut)
            if (answer.text !== whole.text)
              expect(answer.text, `${exchange.path} for ${client}, ${what}`).toBe(whole.text)
          }
          await same('byte by byte', bytes, 1)
          counts.oneByte++
          const every =
            core.has(exchange.path) &&
            bytes.length <= (fullRun ? smallBytes : 400) &&
            (fullRun || client === clientFormats[at % clientFormats.length])
          const splits = every ? bytes.length - 1 : fullRun ? (core.has(exchange.path) ? 60 : 8) : 1
          for (let at = 0; at < splits; at++) {
            const position = every ? at + 1 : 1 + pick(bytes.length - 1)
            await same(`split at ${position}`, bytes, [position])
            counts.twoParts++
          }
        }
      }
      expect(counts.oneByte).toBeGreaterThan(500)
    },
    patience,
  )

  test(
    'produce the same output with other line ends, a byte order mark and comments; in pass-through they stay unchanged',
    async () => {
      for (const [at, exchange] of all.entries()) {
        const others = clientFormats.filter((format) => format !== exchange.format)
        const client = others[at % others.length] ?? exchange.format
        const lines = exchange.answer.replaceAll('\r\n', '\n')
        const whole = await through(exchange, client, utf8.encode(lines))
        const variants = {
          CRLF: lines.replaceAll('\n', '\r\n'),
          CR: lines.replaceAll('\n', '\r'),
          BOM: `\uFEFF${lines}`,
          comments: lines.replaceAll('\n\n', '\n\n: keep-alive\n\n'),
          'ids and retries': lines.replaceAll('\n\n', '\nid: 7\nretry: 100\n\n'),
        }
        for (const [nth, [what, variant]] of Object.entries(variants).entries()) {
          // Core streams in two variants and the others in one: every variant has about a hundred streams.
          if (!fullRun && nth !== at % 5 && !(core.has(exchange.path) && nth === (at + 2) % 5)) continue
          for (const cuts of core.has(exchange.path) ? [variant.length * 4, 1] : [variant.length * 4]) {
            const answer = await through(exchange, client, utf8.encode(variant), cuts)
            if (answer.text !== whole.text) expect(answer.text, `${exchange.path}, ${what}`).toBe(whole.text)
            counts.lineEnds++
          }
          // Bytes after the terminal event are not read.
          const untouched = withoutTimes(variant).trimEnd()
          const { text } = await through(exchange, exchange.format, utf8.encode(variant), 1000)
          if (!untouched.startsWith(text.trimEnd()) || untouched.length - text.length > 200)
            expect(text, `${exchange.path}, ${what}, wire`).toBe(untouched)
        }
      }
    },
    patience,
  )

  test(
    'end in exactly one error and no success when cut after any event',
    async () => {
      for (const [at, exchange] of all.entries()) {
        const bytes = utf8.encode(exchange.answer)
        const last = terminalAt(bytes, exchange.format)
        const ends = [0, ...eventEnds(bytes).filter((end) => end <= last)]
        const cuts = ends.filter(
          (_, at) => fullRun || at === ends.length - 1 || pick(core.has(exchange.path) ? 6 : 24) === 0,
        )
        for (const client of clientsOf(exchange, at))
          for (const end of cuts) {
            await expectOnlyError(exchange, client, bytes.subarray(0, end))
            counts.eventCuts++
          }
      }
      expect(counts.eventCuts).toBeGreaterThan(1500)
    },
    patience,
  )

  test(
    'end in exactly one error and no success when cut after any byte',
    async () => {
      const small = formats.flatMap((format) =>
        all
          .filter((exchange) => exchange.format === format)
          .sort((one, other) => one.answer.length - other.answer.length)
          .slice(0, fullRun ? 4 : 1),
      )
      for (const exchange of small) {
        const bytes = utf8.encode(exchange.answer)
        const last = terminalAt(bytes, exchange.format)
        for (const [place, client] of clientFormats.entries())
          for (let end = 0; end <= last; end++) {
            // Every byte for every second client.
            if (!fullRun && (end + place) % 2 === 1) continue
            await expectOnlyError(exchange, client, bytes.subarray(0, end))
            counts.byteCuts++
          }
      }
      expect(counts.byteCuts).toBeGreaterThan(5000)
    },
    patience,
  )

  test(
    'make the official SDKs throw when cut or reset anywhere',
    async () => {
      for (const exchange of all.filter(({ path }) => core.has(path))) {
        const bytes = utf8.encode(exchange.answer)
        const last = terminalAt(bytes, exchange.format)
        for (const client of clientFormats)
          for (const breaks of [undefined, new Error('reset')])
            for (const end of [pick(last), last]) {
              const served = serveBytes(bytes.subarray(0, end), { stream: true, ...(breaks ? { breaks } : {}) })
              const gateway = gatewayTo(exchange.format, { fetch: served.fetch })
              await expect(
                ask(client, fetchOf(gateway)),
                `${exchange.path} cut at ${end} for ${client}`,
              ).rejects.toThrow()
              counts.thrown++
            }
      }
      expect(counts.thrown).toBeGreaterThan(200)
    },
    patience,
  )

  test('report success only if the upstream did', async () => {
    for (const exchange of all)
      for (const client of clientFormats) {
        const { text } = await through(exchange, client, utf8.encode(exchange.answer))
        // In pass-through, an upstream that claims success in several chunks is passed on unchanged.
        const claims = client === exchange.format ? successClaims(client, exchange.answer) : 1
        expect(successClaims(client, text), `${exchange.path} for ${client}`).toBe(claims)
      }
  })
})
