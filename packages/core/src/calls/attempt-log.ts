import type { Attempt as AttemptEvent } from '../config/plugin.ts'

export type AttemptLog = { -readonly [K in keyof AttemptEvent]: AttemptEvent[K] }
