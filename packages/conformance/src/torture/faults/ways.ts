import { formats } from '../../base/recorded-traffic.ts'
import type { Pair, Target } from '../check.ts'

/** A pair, asked for a whole answer or for a stream. */
export interface Way extends Pair {
  readonly stream: boolean
}

/** Each pair of the target, asked for both. */
export const waysOf = (target: Target): Way[] =>
  target.pairs.flatMap((pair) => [false, true].map((stream) => ({ ...pair, stream })))

/** A few of them, every dialect among them: each pair of the target once, half of them streamed. */
export const fewWaysOf = (target: Target): Way[] =>
  target.pairs.map((pair) => ({
    ...pair,
    stream: (formats.indexOf(pair.client) + formats.indexOf(pair.upstream)) % 2 === 1,
  }))

export const wayName = ({ client, upstream, stream }: Way): string =>
  `${client} from ${upstream}, ${stream ? 'streamed' : 'whole'}`
