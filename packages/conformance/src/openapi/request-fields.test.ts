import type { SharedFormat } from '@modelgate/core'
import { codecs, type JsonObject } from '@modelgate/core/test-support'
import { afterAll, describe, expect, test } from 'vitest'
import type { Meaning } from './field-arrival.ts'
import { requestDocuments, walkOf } from './request-documents.ts'
import { exemptions, meanings } from './request-exemptions.ts'
import { models, pairs, sendRequest } from './request-translations.ts'
import { haveSpecifications, whyNoSpecifications } from './schema.ts'
import { type Exemption, type Outcome, travel } from './verdict.ts'
import { distinct, type Probe, probesOf } from './walk.ts'

const everyProbe = new Map<SharedFormat, readonly Probe[]>()

function probesFor(format: SharedFormat): readonly Probe[] {
  const known = everyProbe.get(format)
  if (known !== undefined) return known
  const list = distinct(requestDocuments[format].flatMap((document) => probesOf(walkOf(document))))
  everyProbe.set(format, list)
  return list
}

const fieldsOf = (format: SharedFormat): number => new Set(probesFor(format).map(({ path }) => path)).size

const needed = new Set<Meaning | Exemption>()
const outcomes = new Map<string, Outcome>()
const tripOf = (from: SharedFormat, to: SharedFormat, model: string): string => `${from} → ${to} (${model})`

function outcomeOf([client, upstream]: (typeof pairs)[number], index: number): Outcome {
  const model = models[index]?.[upstream.format] ?? ''
  const trip = tripOf(client.format, upstream.format, model)
  const known = outcomes.get(trip)
  if (known !== undefined) return known
  const outcome = travel(probesFor(client.format), {
    from: client.format,
    to: upstream.format,
    humble: index > 0,
    meanings,
    exemptions,
    needed,
    send: (body) => sendRequest(client, upstream, model, body),
  })
  outcomes.set(trip, outcome)
  return outcome
}

if (!haveSpecifications) console.log(whyNoSpecifications)

describe.skipIf(!haveSpecifications)('request fields of the published documents', () => {
  afterAll(() => {
    const lines = pairs.map(([from, to]) => {
      const { kept, reported, exempt } = outcomeOf([from, to], 0)
      const trip = `${from.format} → ${to.format}`.padEnd(21)
      return `  ${trip} ${String(kept).padStart(5)} kept ${String(reported).padStart(5)} reported ${String(exempt).padStart(3)} exempt`
    })
    const totals = codecs.map(
      ({ format }) => `${format} ${fieldsOf(format)} fields, ${probesFor(format).length} values`,
    )
    console.log(`published request fields: ${totals.join('; ')}\n${lines.join('\n')}`)
  })

  test.each(codecs)('are accepted by the validator of $format', (codec) => {
    const refused = probesFor(codec.format).flatMap(({ path, body, value }) => {
      try {
        codec.validateRequest(structuredClone(body))
        return []
      } catch (error) {
        return [`${path} = ${JSON.stringify(value)}: ${error instanceof Error ? error.message : String(error)}`]
      }
    })
    expect(refused).toEqual([])
    expect(fieldsOf(codec.format)).toBeGreaterThan(100)
  })

  const trips = models.flatMap((names, index) =>
    pairs
      .filter(([, { format }]) => models.findIndex((one) => one[format] === names[format]) === index)
      .map((pair) => ({ pair, index, from: pair[0].format, to: pair[1].format, model: names[pair[1].format] })),
  )
  test.each(trips)('arrive or are reported: $from → $to, $model', ({ pair, index }) => {
    expect(outcomeOf(pair, index).lost).toEqual([])
  })

  test.each([
    ['/top_p', (body: JsonObject) => ({ ...body, top_p: 1 })],
    ['/verbosity', ({ verbosity: _, ...rest }: JsonObject) => rest],
    ['/stop[array]/*', ({ stop: _, ...rest }: JsonObject) => rest],
    ['/service_tier', (body: JsonObject) => (body.service_tier === 'flex' ? { ...body, service_tier: 'scale' } : body)],
  ])('would be detected as missing if dropped or changed: %s', (path, spoil) => {
    const { lost } = travel(probesFor('chat'), {
      from: 'chat',
      to: 'responses',
      humble: false,
      meanings,
      exemptions,
      needed: new Set(),
      send: (body) => ({ sent: spoil(body), losses: [] }),
    })
    expect(lost.map((line) => line.split(' = ')[0])).toContain(path)
  })

  test('need every entry of the exemption tables', () => {
    for (const { pair, index } of trips) outcomeOf(pair, index)
    expect([...meanings, ...exemptions].filter((entry) => !needed.has(entry))).toEqual([])
  })
})
