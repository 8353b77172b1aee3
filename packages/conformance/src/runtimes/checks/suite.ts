import { type Format, formats } from '../../base/recorded-traffic.ts'
import type { Report } from '../../score/report.ts'
import { type ScoreOptions, score } from '../../score/score.ts'
import { type Check, mergeTallies, type RuntimeTarget, type Tally } from '../check.ts'

const ask = ({ origin, token, providers }: RuntimeTarget, options: Partial<ScoreOptions>): Promise<Report> => {
  providers.reset()
  return score({ url: origin, token, model: 'chat-model', ...options })
}

/** Only a Messages upstream reports which stop sequence ended a response, so translations cannot. */
const unknowable = 'messages/stop-sequence'

function tallied({ results }: Report, { translated = false } = {}): Tally {
  const counted = results.filter(({ name }) => !translated || name !== unknowable)
  const failed = counted.filter(({ verdict }) => verdict === 'failed')
  const held = counted.filter(({ verdict }) => verdict === 'passed').length
  return { held, total: held + failed.length, complaints: failed.map(({ name, why = '' }) => `${name}: ${why}`) }
}

/** Selects for each client format the upstream format this many places on; 0 is its own. */
const shifted = (by: number): Readonly<Record<Format, string>> =>
  Object.fromEntries(formats.map((format, at) => [format, `${formats[(at + by) % formats.length]}-model`])) as Record<
    Format,
    string
  >

/** Checks of `npx @modelgate/conformance`. */
export const suite: Check = {
  name: 'suite',
  promise:
    'the checks of `@modelgate/conformance` with the official SDKs: each format with an upstream of its own format, then with a translated one',
  run: async (place) =>
    mergeTallies(
      tallied(await ask(place, { modelOf: shifted(0), skip: ['realtime'] })),
      tallied(await ask(place, { modelOf: shifted(1), only: formats }), { translated: true }),
    ),
}

/** Runtimes without WebSocket servers return 501. */
export const realtime: Check = {
  name: 'realtime',
  promise: 'on Node, the realtime checks of the same suite; elsewhere realtime sessions return 501',
  async run(place) {
    const report = await ask(place, { only: ['realtime'] })
    if (place.pin.program === 'on-node.js') return tallied(report)
    const refused = report.results.some(({ verdict, why }) => verdict === 'not served' && why?.includes('501') === true)
    return refused && report.total === 0 ? { without: '501' } : { ...tallied(report), held: 0, total: 1 }
  },
}
