import { afterAll, describe, expect, test } from 'vitest'
import {
  type Exchange,
  haveRecordings,
  parallelScenarios,
  type Scenario,
  whyNoRecordings,
} from '../base/recorded-traffic.ts'
import { decodedRequest, type Facet, facets, type Spoken, sorted, spokenIn } from './parallel-facets.ts'
import { reasons } from './parallel-reasons.ts'

if (!haveRecordings) console.log(`parallel: ${whyNoRecordings}`)

interface Spoke {
  readonly exchange: Exchange
  readonly spoken: Spoken
}

/** The same moment of the same conversation: what the user asked first, how much was said and how often tools answered since. */
function momentsOf({ exchanges }: Scenario): Spoke[][] {
  const moments = new Map<string, Spoke[]>()
  for (const exchange of exchanges) {
    const request = decodedRequest(exchange)
    if (request === undefined) continue
    const spoken = spokenIn(request)
    const moment = JSON.stringify([spoken.said[0], spoken.said.length, spoken.results.length])
    moments.set(moment, [...(moments.get(moment) ?? []), { exchange, spoken }])
  }
  return [...moments.values()].filter((list) => new Set(list.map(({ exchange }) => exchange.format)).size > 1)
}

/** The values of a facet, each with the exchanges that have it; those that differ for a known reason are left out. */
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

describe.skipIf(!haveRecordings)('one conversation on several formats', () => {
  const scenarios = haveRecordings ? parallelScenarios() : []
  const counts = { wholly: 0, reasoned: 0, moments: 0, requests: 0, alone: 0 }
  afterAll(() =>
    console.log(
      `parallel: ${scenarios.length} scenarios, ${counts.moments} moments with ${counts.requests} requests in two formats or more; ` +
        `${counts.wholly} scenarios agree wholly, ${counts.reasoned} but for ${reasons.length} written-down reasons, ` +
        `${counts.alone} have no moment in two formats`,
    ),
  )

  test('decodes to the same IR, whichever wire it came from', () => {
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
    // A reason that nothing needs any more is no reason.
    expect(reasons.filter((reason) => !used.has(reason))).toEqual([])
    expect(counts.wholly).toBeGreaterThan(30)
  })
})
