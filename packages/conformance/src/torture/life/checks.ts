import type { Check } from '../check.ts'
import { memory } from './memory.ts'
import { redisAway } from './redis-away.ts'
import { shutdown } from './shutdown.ts'

export const lifeChecks: readonly Check[] = [shutdown, redisAway, memory]
