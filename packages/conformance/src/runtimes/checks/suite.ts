import { type Format, formats } from '../../base/recorded-traffic.ts'
import type { Report } from '../../score/report.ts'
import { type ScoreOptions, score } from '../../score/score.ts'
import { type Check, type Place, type Tally, together } from '../check.ts'

const ask = ({ origin, token, providers }: Place, options: Partial<ScoreOptions>): Promise<Report> => {
  providers.reset()
  return score({ url: origin, token, model: 'chat-model', ...options })
}

/** Which of its stop sequences ended an answer, only an upstream of messages tells: nobody else can pass this on. */
const unknowable = 'messages/stop-sequence'

function tallied({ results }: Report, { translated = false } = {}): Tally {
  const counted = results.filter(({ name }) => !translated || name !== unknowable)
  const failed = counted.filter(({ verdict }) => verdict === 'failed')
  const held = counted.filter(({ verdict }) => verdict === 'passed').length
  return { held, asked: held + failed.length, complaints: failed.map(({ name, why = '' }) => `${name}: ${why}`) }
}

/** Each client's format is asked of the upstream so many places on: 0 is its own. */
const shifted = (by: number): Readonly<Record<Format, string>> =>
  Object.fromEntries(formats.map((format, at) => [format, `${formats[(at + by) % formats.length]}-model`])) as Record<
    Format,
    string
  >

/** What `npx @modelgate/conformance` asks. */
export const suite: Check = {
  name: 'suite',
  promise:
    'what `@modelgate/conformance` asks with the official SDKs, format by format and feature by feature: each of its own format’s upstream, then each translated',
  run: async (place) =>
    together(
      tallied(await ask(place, { modelOf: shifted(0), skip: ['realtime'] })),
      tallied(await ask(place, { modelOf: shifted(1), only: formats }), { translated: true }),
    ),
}

/** Who cannot hold a WebSocket says so. */
export const realtime: Check = {
  name: 'realtime',
  promise: 'on Node, what the same suite asks of realtime sessions; elsewhere they are answered 501',
  async run(place) {
    const report = await ask(place, { only: ['realtime'] })
    if (place.pin.program === 'on-node.js') return tallied(report)
    const refused = report.results.some(({ verdict, why }) => verdict === 'not served' && why?.includes('501') === true)
    return refused && report.asked === 0 ? { without: '501' } : { ...tallied(report), held: 0, asked: 1 }
  },
}
