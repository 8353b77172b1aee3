import type { Loss } from '@modelgate/core'
import type { RecentCall } from './api.ts'

/** Returns the losses of a call as core describes them. */
export const lossesOf = ({ losses }: RecentCall): readonly Loss[] =>
  losses.map(({ side, ...loss }) => (side === undefined ? loss : { ...loss, side }))
