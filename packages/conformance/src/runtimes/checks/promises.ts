import type { CheckContext } from '../../torture/check.ts'
import { checks as rows } from '../../torture/checks.ts'
import { type Case, type Check, type RuntimeTarget, tallyOf } from '../check.ts'

/** Rows of the torture table without time measurements that work with a gateway in another process. */
const quick = [5, 6, 8, 17, 28, 30]
/** Rows that take a minute or more. */
const slow = [3, 4, 7, 14, 15]

const settingOf = ({ strict: target, scriptedUpstream: upstream }: RuntimeTarget): CheckContext => ({
  target,
  upstream,
  short: true,
  count: (_, short) => short,
  fresh: async () => undefined,
})

const casesAt = (place: RuntimeTarget): Case[] =>
  rows
    .filter(({ row }) => quick.includes(row) || (place.full && slow.includes(row)))
    .map(({ row, title, run }) => ({
      name: `torture ${row}, ${title}`,
      async ask() {
        const outcome = await run(settingOf(place))
        if ('skipped' in outcome) return `the row was skipped: ${outcome.skipped}`
        return outcome.held ? undefined : [outcome.figure, ...(outcome.notes ?? []).slice(0, 6)].join('\n      ')
      },
    }))

/** Rows of the torture table. */
export const promises: Check = {
  name: 'torture',
  promise: `rows ${quick.join(', ')} of the torture table (with --full also ${slow.join(', ')}): errors and broken events in streams, usage, malformed bodies, odd numbers`,
  run: (place) => tallyOf(casesAt(place), 1),
}
