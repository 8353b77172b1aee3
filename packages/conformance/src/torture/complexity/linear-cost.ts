import type { Check } from '../check.ts'
import { inParallel } from '../measurements.ts'
import { allCases, type Case } from './cases.ts'
import { createMeasurer, type Measurer, type Report } from './measuring.ts'
import { familyOf, fullShares, representatives, type Shares, sample, shortShares } from './sample.ts'
import { bounds, complaintOf, exponentOf, msPerMb, type Point } from './verdict.ts'

interface Form {
  readonly shares: Shares
  /** Each attack is measured once at these sizes. */
  readonly screen: readonly [number, number]
  /** One attack per family is measured once at this size: slow growth appears only at large sizes. */
  readonly large: number
  /** Measures one of this many families. */
  readonly share: { readonly schemas: number; readonly others: number }
  /** Sizes for a second measurement of expensive cases, up to the limits of a body. */
  readonly sizes: readonly number[]
  readonly runs: number
  readonly runMs: number
  /** Number of the most expensive attacks that are measured precisely in any case. */
  readonly dearest: number
  /** Maximum number of precise measurements per family, and in total. */
  readonly mostOfFamily: number
  readonly most: number
}

const kb = 1000
const forms = {
  full: {
    shares: fullShares,
    screen: [32 * kb, 128 * kb],
    large: 2000 * kb,
    share: { schemas: 1, others: 8 },
    sizes: [1000 * kb, 2000 * kb, 4000 * kb],
    runs: 5,
    runMs: 200,
    dearest: 20,
    mostOfFamily: 3,
    most: 400,
  },
  short: {
    shares: shortShares,
    screen: [16 * kb, 64 * kb],
    large: 500 * kb,
    share: { schemas: 24, others: 160 },
    sizes: [250 * kb, 500 * kb, 1000 * kb],
    runs: 3,
    runMs: 40,
    dearest: 2,
    mostOfFamily: 1,
    most: 8,
  },
} as const satisfies Readonly<Record<string, Form>>

/** CPU milliseconds after which an attack has failed, whatever its size. */
const limitMs = 10_000
/** An attack that costs less at the larger screening size is not measured again. */
const cheapMs = 4
/**
 * Exponent in the screening above which an attack is measured again. It is below the failing exponent, because single
 * runs are imprecise.
 */
const suspiciousSlope = 1.2
const processes = 2

interface Measured {
  readonly name: string
  readonly one: Case
  readonly report: Report
}

const costOf = (points: readonly Point[]): number => points.at(-1)?.cost ?? 0

function looksDear({ report: { points, hung } }: Measured): boolean {
  if (hung === true) return true
  if (costOf(points) < cheapMs) return false
  if (msPerMb(points) > bounds.msPerMb) return true
  return points.length > 1 && exponentOf(points) > suspiciousSlope
}

/** Returns the smaller of two measurements per point. */
const least = (a: readonly Point[], b: readonly Point[]): Point[] =>
  a.map((point, at) => ({ ...point, cost: Math.min(point.cost, b[at]?.cost ?? point.cost) }))

/**
 * Measures all attacks once, and expensive ones twice more, because garbage collection strikes at random.
 *
 * @param sizes two sizes, or one that is large enough on its own
 */
async function screen(
  measurers: readonly Measurer[],
  names: readonly string[],
  cases: ReadonlyMap<string, Case>,
  sizes: readonly number[],
  mostOfFamily: number,
): Promise<Measured[]> {
  const free = [...measurers]
  const hungOf = new Map<string, number>()
  const results = await inParallel(names, measurers.length, async (name): Promise<Measured | undefined> => {
    const one = cases.get(name) as Case
    const family = familyOf(one)
    // A case that hangs on one pair usually hangs on all, and each takes the whole time limit.
    if ((hungOf.get(family) ?? 0) >= mostOfFamily) return undefined
    const measurer = free.pop() as Measurer
    try {
      const measure = (): Promise<Report> => measurer.measure({ name, sizes, runs: 1, leastMs: 0 })
      let report = await measure()
      for (let again = 0; again < 2 && report.hung !== true && looksDear({ name, one, report }); again++) {
        const next = await measure()
        report = { ...next, points: next.hung === true ? [] : least(report.points, next.points) }
      }
      if (report.hung === true) hungOf.set(family, (hungOf.get(family) ?? 0) + 1)
      return { name, one, report }
    } finally {
      free.push(measurer)
    }
  })
  return results.filter((result) => result !== undefined)
}

/** Number of precise measurements before a failure counts: effects of the machine do not repeat. */
const rounds = 3

/** Measures once more. Failures are measured precisely, as the minimum of several runs. */
async function confirm(measurer: Measurer, { name, one }: Measured, form: Form, always: boolean): Promise<Measured> {
  const { sizes, runs, runMs } = form
  const first = await measurer.measure({ name, sizes, runs: 1, leastMs: 0 })
  if (!always && first.hung !== true && complaintOf(first.points) === undefined) return { name, one, report: first }
  let report = first
  for (let round = 0; round < rounds && report.hung !== true; round++) {
    const next = await measurer.measure({ name, sizes, runs, leastMs: runMs })
    report = next.hung === true ? next : { ...next, points: least(next.points, report.points) }
    if (report.hung !== true && complaintOf(report.points) === undefined) break
  }
  return { name, one, report }
}

/**
 * Selects the attacks for precise measurement: all expensive ones, some of each family, and the most expensive of the
 * others.
 */
function chosen(screened: readonly Measured[], { dearest, mostOfFamily, most }: Form): Measured[] {
  const finished = [...new Map(screened.map((measured) => [measured.name, measured])).values()].filter(
    ({ report }) => report.hung !== true,
  )
  const byCost = finished.sort((a, b) => msPerMb(b.report.points) - msPerMb(a.report.points))
  const perFamily = new Map<string, number>()
  const fromFamily = ({ one }: Measured): boolean => {
    const count = (perFamily.get(familyOf(one)) ?? 0) + 1
    perFamily.set(familyOf(one), count)
    return count <= mostOfFamily
  }
  const dear = byCost.filter(looksDear).filter(fromFamily).slice(0, most)
  const others = byCost.filter((measured) => !looksDear(measured)).slice(0, dearest)
  return [...dear, ...others]
}

const sentenceOf = (name: string, complaint: string, points: readonly Point[]): string =>
  `${complaint}: ${name}${
    points.length === 0
      ? ''
      : ` (${points.map(({ bytes, cost }) => `${Math.round(bytes / kb)} kB ${Math.round(cost)} ms`).join(', ')})`
  }`

/**
 * Every endpoint with every upstream, and every response to every client, receives input that is built to cost more
 * than its size: see `cases.ts`. Costs are CPU time of a separate process, so that other load hardly counts.
 */
export const linearCost: Check = {
  row: 43,
  group: 'Input',
  title: 'Cost grows linearly with size',
  promise: `exponent ≤ ${bounds.exponent}, ≤ ${bounds.msPerMb} ms of CPU per MB, for structural attacks on every endpoint × pair`,
  async run({ target, short }) {
    if (target.local === undefined) return { skipped: 'costs are measured in a process of this kit' }
    const form: Form = short ? forms.short : forms.full
    const cases = allCases()
    const names = sample(cases, form.shares)
    const measurers = Array.from({ length: processes }, () => createMeasurer(limitMs))
    try {
      const small = await screen(measurers, names, cases, form.screen, form.mostOfFamily)
      const one = representatives(cases, form.share)
      const large = await screen(measurers, one, cases, [form.large], form.mostOfFamily)
      const screened = [...small, ...large]
      const [measurer] = measurers as [Measurer]
      const careful = await inParallel(chosen(screened, form), 1, (measured) =>
        confirm(measurer, measured, form, !short),
      )
      const hung = [...screened, ...careful].filter(({ report }) => report.hung === true)
      const finished = careful.filter(({ report }) => report.hung !== true)
      const over = finished.flatMap(({ name, report: { points } }) => {
        const complaint = complaintOf(points)
        return complaint === undefined ? [] : [sentenceOf(name, complaint, points)]
      })
      const broken = screened.filter(({ report }) => report.hung !== true && report.points.length === 0)
      const faults = screened.filter(({ report }) => report.status === 500)
      const pairs = new Set(screened.map(({ one }) => `${one.endpoint} ${one.pair}`))
      // Growth that ends at a limit, or costs next to nothing, has no meaningful exponent.
      const slopes = finished.flatMap(({ report: { points } }) => {
        const grows = (points.at(-1)?.bytes ?? 0) > 1.5 * (points[0]?.bytes ?? 0)
        return grows && costOf(points) >= bounds.leastMs ? [exponentOf(points)] : []
      })
      const notes = [
        ...hung.map(({ name, report }) => sentenceOf(name, report.responseStart, [])),
        ...over,
        ...broken.map(({ name, report }) => `${name}: ${report.responseStart}`),
        ...faults.map(({ name, report }) => `internal error of the gateway: ${name}: ${report.responseStart}`),
      ]
      const worstMs = Math.max(0, ...finished.map(({ report }) => msPerMb(report.points)))
      return {
        held: notes.length === 0,
        late: broken.length === 0 && faults.length === 0,
        figure:
          `${names.length} attacks, ${large.length} of them large, on ${pairs.size} endpoint × upstream pairs: ${hung.length} hung, ${over.length} over the limits;` +
          `worst exponent ${Math.max(0, ...slopes).toFixed(2)}, worst ${Math.round(worstMs)} ms per MB (${careful.length} measured precisely)`,
        notes,
      }
    } finally {
      for (const measurer of measurers) measurer.stop()
    }
  },
}
