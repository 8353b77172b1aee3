import type { Format, UpstreamFormat } from '@modelgate/core'
import type { JsonObject } from '@modelgate/core/test-support'
import type { Json } from '../base/json.ts'
import { arrival, type Carried, isReported, isUntouched, type Meaning } from './field-arrival.ts'
import type { Probe } from './walk.ts'

/** A field that need neither arrive nor be reported, with the reason. */
export interface Exemption {
  readonly from: Format
  readonly at: RegExp
  /** Only this value, or matching texts. */
  readonly value?: Json | RegExp
  /** Only with these target formats. Default: all. */
  readonly to?: readonly (Format | UpstreamFormat)[]
  /** Only with models of few features. Default: all models. */
  readonly humble?: true
  /** The loss is reported under its enclosing part: a loss at this path must exist. */
  readonly reportedAt?: { readonly path: string; readonly detail: RegExp }
  readonly why: string
}

/** From one format to another, through both codecs. */
export interface Journey {
  readonly from: Format
  readonly to: Format | UpstreamFormat
  readonly humble: boolean
  readonly meanings: readonly Meaning[]
  readonly exemptions: readonly Exemption[]
  /** The table entries without which a value would count as lost. */
  readonly needed: Set<Meaning | Exemption>
  send(body: JsonObject): Carried
}

export interface Outcome {
  readonly kept: number
  readonly reported: number
  /** Neither arrived nor reported, but the documented default or exempt by the table. */
  readonly exempt: number
  /** Neither arrived nor reported: one description per broken promise. */
  readonly lost: readonly string[]
}

/** Sends every probe and returns the results. */
export function travel(probes: readonly Probe[], journey: Journey): Outcome {
  const counts = { kept: 0, reported: 0, exempt: 0 }
  const lost: string[] = []
  for (const [path, family] of familiesOf(probes)) {
    const carried = new Map(family.map((probe) => [probe, journey.send(probe.body)]))
    const reported = new Map<string, Probe>()
    for (const probe of family) {
      const verdict = verdictOf(probe, carried, journey)
      if (verdict === 'lost') lost.push(`${path} = ${JSON.stringify(probe.value)}`)
      else counts[verdict]++
      if (verdict !== 'kept' || probe.kind !== 'word' || isSynonym(probe, journey)) continue
      // Two values that produce the same body are indistinguishable.
      const body = JSON.stringify(carried.get(probe)?.sent)
      const twin = reported.get(body)
      if (twin !== undefined)
        lost.push(`${path} = ${JSON.stringify(probe.value)} produces the same body as ${JSON.stringify(twin.value)}`)
      reported.set(body, probe)
    }
  }
  return { ...counts, lost }
}

function familiesOf(probes: readonly Probe[]): Map<string, Probe[]> {
  const families = new Map<string, Probe[]>()
  for (const probe of probes) {
    const family = families.get(probe.path)
    if (family === undefined) families.set(probe.path, [probe])
    else family.push(probe)
  }
  return families
}

function verdictOf(
  probe: Probe,
  family: ReadonlyMap<Probe, Carried>,
  journey: Journey,
): 'kept' | 'reported' | 'exempt' | 'lost' {
  const carried = family.get(probe) ?? journey.send(probe.body)
  const without = journey.send(probe.without)
  if (isReported(probe, carried, without, journey.send)) return 'reported'
  if (journey.from === journey.to && isUntouched(probe, carried)) return 'kept'
  const siblings = [...family].filter(([other]) => other !== probe && other.kind === 'word').map(([, other]) => other)
  const arrived = arrival(probe, carried, [without, ...siblings], journey.meanings)
  if (arrived !== undefined && arrived !== 'itself') journey.needed.add(arrived)
  if (arrived !== undefined) return 'kept'
  if (probe.standard === true) return 'exempt'
  const exemption = journey.exemptions.find((one) => covers(one, probe, carried, journey))
  if (exemption === undefined) return 'lost'
  journey.needed.add(exemption)
  return 'exempt'
}

const isSynonym = (probe: Probe, { meanings }: Journey): boolean =>
  probe.standard === true || meanings.some(({ at, value }) => at.test(probe.path) && value === probe.value)

function covers(
  { from, at, value, to, humble, reportedAt }: Exemption,
  probe: Probe,
  { losses }: Carried,
  journey: Journey,
): boolean {
  if (from !== journey.from || !at.test(probe.path)) return false
  if (to !== undefined && !to.includes(journey.to)) return false
  if (humble === true && !journey.humble) return false
  if (
    reportedAt !== undefined &&
    !losses.some(({ path, detail }) => path === reportedAt.path && reportedAt.detail.test(detail))
  )
    return false
  return value === undefined || (value instanceof RegExp ? value.test(String(probe.value)) : value === probe.value)
}
