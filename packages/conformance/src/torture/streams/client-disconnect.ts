import type { Check } from '../check.ts'
import { ms, percentile, tally } from '../measurements.ts'
import { beyond, holdings } from './baseline.ts'
import { disconnectAll, disconnectResults } from './disconnects.ts'

/** Clients that disconnect: further output is not read but still costs money. */
export const clientDisconnect: Check = {
  row: 1,
  group: 'Streams',
  title: 'Client disconnects, 4 moments, every format pair',
  promise: 'upstream socket closed: 1,000/1,000 each, p50 < 10 ms, p99 < 100 ms',
  perServer: true,
  async run(setting) {
    const { moments } = await disconnectAll(setting)
    const figures = moments.map(({ moment, count, closedMs }) => ({
      moment,
      count,
      closed: closedMs.length,
      p50: percentile(closedMs, 0.5),
      p99: percentile(closedMs, 0.99),
    }))
    const sum = (of: 'count' | 'closed'): number => figures.reduce((all, one) => all + one[of], 0)
    const all = moments.flatMap(({ closedMs }) => closedMs)
    const inTime = (times: readonly number[]): boolean => percentile(times, 0.5) < 10 && percentile(times, 0.99) < 100
    // With few samples, the slowest hundredth is a single one: they are pooled.
    const timely = setting.short ? inTime(all) : moments.every(({ closedMs }) => inTime(closedMs))
    const held = timely && sum('closed') === sum('count')
    return {
      held,
      late: sum('closed') === sum('count'),
      figure:
        `${sum('closed')}/${sum('count')} closed (${figures.map(({ moment, count, closed }) => `${moment} ${closed}/${count}`).join('; ')}), ` +
        `p50 ${ms(percentile(all, 0.5))}, p99 ${ms(percentile(all, 0.99))}`,
      notes: [
        ...figures
          .filter(({ p50, p99 }) => p50 >= 10 || p99 >= 100)
          .map(({ moment, p50, p99 }) => `${moment}: p50 ${ms(p50)}, p99 ${ms(p99)}`),
        ...tally(moments.flatMap(({ complaints }) => complaints)),
      ],
    }
  },
}

const withinMs = 10_000

/** Disconnected clients leave nothing behind. */
export const nothingLeaks: Check = {
  row: 2,
  group: 'Streams',
  title: 'After 1',
  promise: 'sockets, fds, timers back to baseline in ≤ 10 s; 0 unhandled rejections',
  perServer: true,
  async run(setting) {
    const { before, moments, open } = await disconnectResults(setting)
    const gone = moments.reduce((all, { count }) => all + count, 0)
    const begun = performance.now()
    let more = beyond(before, await holdings(setting))
    while (more.length > 0 && performance.now() - begun < withinMs) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      more = beyond(before, await holdings(setting))
    }
    for (const call of open) call.socket.destroy()
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    const rejections = (await setting.target.local?.stats())?.unhandledRejections
    const looked = Object.keys(before).join(', ')
    return {
      held: more.length === 0 && (rejections ?? 0) === 0,
      figure:
        (more.length === 0 ? `at baseline ${seconds} s` : `beyond its baseline ${seconds} s: ${more.join(', ')}`) +
        ` after ${gone} clients disconnected (${looked})` +
        (rejections === undefined ? '' : `, ${rejections} unhandled rejections`),
    }
  },
}
