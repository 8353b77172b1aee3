import type { Check } from '../check.ts'
import { clientLeaves, nothingStays } from './client-leaves.ts'
import { cutOff } from './cut-off.ts'
import { delay } from './delay.ts'
import { heartbeat } from './heartbeat.ts'
import { honesty } from './honesty.ts'
import { splits } from './splits.ts'
import { errorMidStream, malformedEvent } from './upstream-errors.ts'
import { usage } from './usage.ts'

export const streamChecks: readonly Check[] = [
  clientLeaves,
  nothingStays,
  splits,
  cutOff,
  errorMidStream,
  malformedEvent,
  honesty,
  usage,
  heartbeat,
  delay,
]
