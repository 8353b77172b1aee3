import { GatewayError } from '../../base/errors.ts'
import type { Standing } from './standing.ts'

/** Whether a target may be called now. */
export const isCallable = ({ state }: Standing): boolean => state === 'ready' || state === 'doubtful'

/** Why none of a model's targets is called just now, and when to come again. */
export function resting(model: string, standings: readonly Standing[]): GatewayError {
  const name = model.length > 100 ? `${model.slice(0, 100)}…` : model
  const soonest = standings.reduce((best, standing) => (standing.waitMs < best.waitMs ? standing : best))
  const retryAfter = Math.max(1, Math.ceil(soonest.waitMs / 1000))
  return soonest.state === 'limited'
    ? new GatewayError('rate_limited', `The upstream of '${name}' takes no more calls for ${retryAfter} s.`, {
        retryAfter,
      })
    : new GatewayError('overloaded', `The upstream of '${name}' keeps failing and is left alone for ${retryAfter} s.`, {
        retryAfter,
      })
}
