import type { Check } from '../check.ts'
import { holdsWithin, mb, tally } from '../measurements.ts'
import { growth, memoryOf } from '../process-memory.ts'
import { beyond, holdings } from '../streams/baseline.ts'
import { runStalledReaders } from './idle-sessions.ts'
import { mixed, warmUp } from './mixed-load.ts'

const mostPerRequest = 100
/** Limit of the short form: with so few requests, compiled code weighs more. */
const mostPerRequestShort = 1000
const mostPerSleeper = 1_000_000
const mostRss = 30_000_000
/** Longer than idle connections are kept. */
const calmMs = 10_000

const known = (bytes: number | undefined, reported: (bytes: number) => string): string =>
  bytes === undefined ? 'not known' : reported(bytes)
const within = (bytes: number | undefined, most: number): boolean => bytes === undefined || bytes <= most
const each = (bytes: number): string => `${(bytes / 1000).toFixed(3)} kB`

/** Memory that stalled readers and many requests leave behind. */
export const memory: Check = {
  row: 42,
  group: 'Memory',
  title: '50 stalled readers with 500 MB each; 100,000 mixed requests with 20 % aborts',
  promise:
    '≤ 1 MB heap per stalled stream; heap slope after GC ≤ 0.1 KB per request; RSS back to +30 MB; nothing left over',
  perServer: true,
  async run(setting) {
    const { upstream, short, count, fresh } = setting
    const target = (await fresh({})) ?? setting.target
    if (target.pid === undefined) return { skipped: 'its process is not known (--pid)' }
    const here = { ...setting, target }
    await warmUp(target, upstream, count(10_000, 1000))
    /** True when the upstream has no open connections. */
    const rested = (): Promise<boolean> =>
      holdsWithin(async () => {
        upstream.closeIdle()
        return (await upstream.connections()) === 0
      }, calmMs)
    await rested()
    const before = await holdings(here)
    const calm = async (): Promise<string[]> => {
      let left: string[] = []
      await rested()
      await holdsWithin(async () => {
        left = beyond(before, await holdings(here))
        return left.length === 0
      }, calmMs)
      return left
    }
    const rss = (await memoryOf(target)).rss

    const load = await mixed(target, upstream, count(100_000, 3000), count(20, 6))
    const left = await calm()
    const grown = growth(rss, (await memoryOf(target)).rss)

    const slept = await runStalledReaders(target, upstream, count(50, 16))
    left.push(...(await calm()))
    const rejections = (await target.local?.stats())?.unhandledRejections ?? 0
    const complaints = [...load.complaints, ...slept.complaints, ...left]
    if (rejections > 0) complaints.push(`${rejections} unhandled rejections`)
    return {
      held:
        complaints.length === 0 &&
        within(load.heapPerRequest, short ? mostPerRequestShort : mostPerRequest) &&
        within(grown, mostRss) &&
        within(slept.heapEach ?? slept.rssEach, mostPerSleeper),
      figure:
        `${load.requests} requests, ${load.aborted} aborted: heap ${known(load.heapPerRequest, each)} each ` +
        `(± ${known(load.give, each)}${short ? '; with so few requests only an estimate' : ''}), RSS ${known(grown, mb)} more, ` +
        `${left.length === 0 ? 'nothing left over' : left.join(', ')}; stalled: heap ${known(slept.heapEach, each)} each,` +
        `with buffers ${known(slept.withBuffersEach, each)}, RSS ${known(slept.rssEach, each)}, ${mb(slept.sentBytes)} taken of ${mb(slept.offeredBytes)}`,
      notes: tally(complaints),
    }
  },
}
