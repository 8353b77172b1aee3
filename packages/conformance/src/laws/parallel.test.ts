import { afterAll, describe, expect, test } from 'vitest'
import {
  type Exchange,
  haveRecordings,
  parallelScenarios,
  type Scenario,
  whyNoRecordings,
} from '../base/recorded-traffic.ts'
import { type ConversationContent, decodedRequest, type Facet, facets, sorted, spokenIn } from './parallel-facets.ts'
import { reasons } from './parallel-reasons.ts'

if (!haveRecordings) console.log(`parallel: ${whyNoRecordings}`)

interface Spoke {
  readonly exchange: Exchange
  readonly spoken: ConversationContent
}

/**
 * Groups requests by the moment of the conversation: the first user text, and the number of later texts and tool
 * results.
 */
function momentsOf({ exchanges }: Scenario): Spoke[][] {
  const moments = new Map<string, Spoke[]>()
  for (const exchange of exchanges) {
    const request = decodedRequest(exchange)
    if (request === undefined) continue
    const spoken = spokenIn(request)
    const moment = JSON.stringify([spoken.userTexts[0], spoken.userTexts.length, spoken.results.length])
    moments.set(moment, [...(moments.get(moment) ?? []), { exchange, spoken }])
  }
  return [...moments.values()].filter((list) => new Set(list.map(({ exchange }) => exchange.format)).size > 1)
}

/** Returns the values of a facet with the exchanges that have them, without values that differ for a known reason. */
function valuesOf(facet: Facet, moment: readonly Spoke[], used: Set<unknown>): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const { exchange, spoken } of moment) {
    const value = sorted(spoken[facet] as Parameters<typeof sorted>[0])
    values.set(value, [...(values.get(value) ?? []), exchange.path])
  }
  if (values.size < 2) return values
  for (const reason of reasons.filter((one) => one.facet === facet))
    for (const [value, paths] of values) {
      const others = paths.filter((path) => !reason.where.test(path))
      if (others.length === paths.length) continue
      used.add(reason)
      if (others.length === 0) values.delete(value)
      else values.set(value, others)
    }
  return values
}

describe.skipIf(!haveRecordings)('one conversation recorded in several formats', () => {
  const scenarios = haveRecordings ? parallelScenarios() : []
  const counts = { wholly: 0, reasoned: 0, moments: 0, requests: 0, alone: 0 }
  afterAll(() =>
    console.log(
      `parallel: ${scenarios.length} scenarios, ${counts.moments} moments with ${counts.requests} requests in two formats or more;` +
        `${counts.wholly} scenarios agree completely, ${counts.reasoned} except for ${reasons.length} documented reasons,` +
        `${counts.alone} have no moment in two formats`,
    ),
  )

  test('decodes to the same IR from every format', () => {
    const used = new Set<unknown>()
    const wrong: unknown[] = []
    for (const scenario of scenarios) {
      const moments = momentsOf(scenario)
      let reasoned = false
      for (const moment of moments) {
        counts.moments++
        counts.requests += moment.length
        for (const facet of facets) {
          const seen = new Set<unknown>()
          const values = valuesOf(facet, moment, seen)
          for (const reason of seen) used.add(reason)
          reasoned ||= seen.size > 0
          if (values.size > 1) wrong.push([scenario.name, facet, ...values])
        }
      }
      if (moments.length === 0) counts.alone++
      else if (reasoned) counts.reasoned++
      else counts.wholly++
    }
    expect(wrong).toEqual([])
    // Unused reasons must be removed.
    expect(reasons.filter((reason) => !used.has(reason))).toEqual([])
    expect(counts.wholly).toBeGreaterThan(30)
  })
})
