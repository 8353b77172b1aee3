import type { SharedFormat } from '@modelgate/core'
import { type ClientCodec, type Codec, clientCodecs, codecs, type JsonObject } from '@modelgate/core/test-support'
import { afterAll, describe, expect, test } from 'vitest'
import type { Meaning } from './field-arrival.ts'
import { walkOf } from './request-documents.ts'
import { answerDocuments, streamFields } from './response-documents.ts'
import { answerExemptions, answerMeanings } from './response-exemptions.ts'
import { sendAnswer, sendStream } from './response-translations.ts'
import { haveSpecifications, whyNoSpecifications } from './schema.ts'
import { type Exemption, type Outcome, travel } from './verdict.ts'
import { distinct, type Probe, probesOf } from './walk.ts'

/** Upstreams and clients. */
const pairs: readonly (readonly [Codec, ClientCodec])[] = codecs.flatMap((upstream) =>
  clientCodecs.map((client) => [upstream, client] as const),
)

const everyProbe = new Map<SharedFormat, readonly Probe[]>()

function probesFor(format: SharedFormat): readonly Probe[] {
  const known = everyProbe.get(format)
  if (known !== undefined) return known
  const list = distinct(answerDocuments[format].flatMap((document) => probesOf(walkOf(document))))
  everyProbe.set(format, list)
  return list
}

const fieldsOf = (format: SharedFormat): number => new Set(probesFor(format).map(({ path }) => path)).size

const ways = ['whole', 'stream'] as const
type Way = (typeof ways)[number]
const needed = new Set<Meaning | Exemption>()
const outcomes = new Map<string, Outcome>()

function outcomeOf(way: Way, [upstream, client]: (typeof pairs)[number]): Outcome {
  const trip = `${way} ${upstream.format} → ${client.format}`
  const known = outcomes.get(trip)
  if (known !== undefined) return known
  const send = way === 'whole' ? sendAnswer : sendStream
  const fields = streamFields[upstream.format]
  const outcome = travel(
    probesFor(upstream.format).filter(({ path }) => way === 'whole' || fields.test(path)),
    {
      from: upstream.format,
      to: client.format,
      humble: false,
      meanings: answerMeanings,
      exemptions: answerExemptions,
      needed,
      send: (body) => send(upstream, client, body),
    },
  )
  outcomes.set(trip, outcome)
  return outcome
}

if (!haveSpecifications) console.log(whyNoSpecifications)

describe.skipIf(!haveSpecifications)('response fields of the published documents', () => {
  afterAll(() => {
    const lines = ways.flatMap((way) =>
      pairs.map(([upstream, client]) => {
        const { kept, reported, exempt } = outcomeOf(way, [upstream, client])
        const trip = `${way} ${upstream.format} → ${client.format}`.padEnd(28)
        return `  ${trip} ${String(kept).padStart(5)} kept ${String(reported).padStart(5)} reported ${String(exempt).padStart(3)} exempt`
      }),
    )
    const totals = codecs.map(
      ({ format }) => `${format} ${fieldsOf(format)} fields, ${probesFor(format).length} values`,
    )
    console.log(`published response fields: ${totals.join('; ')}\n${lines.join('\n')}`)
  })

  const trips = ways.flatMap((way) =>
    pairs.map((pair) => ({ way, pair, upstream: pair[0].format, client: pair[1].format })),
  )
  test.each(trips)('arrive or are reported: $way, $upstream → $client', ({ way, pair }) => {
    expect(outcomeOf(way, pair).lost).toEqual([])
  })

  test.each(codecs)('are listed for $format', ({ format }) => {
    expect(fieldsOf(format)).toBeGreaterThan(50)
  })

  test.each([
    ['/usage/prompt_tokens', ({ usage: _, ...rest }: JsonObject) => rest],
    ['/service_tier', ({ service_tier: _, ...rest }: JsonObject) => rest],
    ['/choices/*/message/refusal', ({ output: _, ...rest }: JsonObject) => rest],
    ['/choices/*/logprobs/refusal/*/token', (body: JsonObject) => body],
    ['/usage/completion_tokens_details/rejected_prediction_tokens', (body: JsonObject) => body],
  ])('would be detected as missing if dropped or unreported: %s', (path, spoil) => {
    const [chat, responses] = ['chat', 'responses'].map((name) => codecs.find(({ format }) => format === name))
    if (chat === undefined || responses === undefined) throw new Error('a codec is missing')
    const { lost } = travel(probesFor('chat'), {
      from: 'chat',
      to: 'responses',
      humble: false,
      meanings: answerMeanings,
      exemptions: answerExemptions,
      needed: new Set(),
      send: (body) => ({ sent: spoil(sendAnswer(chat, responses, body).sent), losses: [] }),
    })
    expect(lost.map((line) => line.split(' = ')[0])).toContain(path)
  })

  test('need every entry of the exemption tables', () => {
    for (const { way, pair } of trips) outcomeOf(way, pair)
    const entries = [...answerMeanings, ...answerExemptions]
    expect(entries.filter((entry) => !needed.has(entry))).toEqual([])
  })
})
