import type { Check } from './check.ts'
import { answers } from './checks/answers.ts'
import { bytes } from './checks/bytes.ts'
import { encodings } from './checks/encodings.ts'
import { limits } from './checks/limits.ts'
import { many } from './checks/many.ts'
import { promises } from './checks/promises.ts'
import { leaving, live, pace } from './checks/streams.ts'
import { realtime, suite } from './checks/suite.ts'
import { host, inProcess, tokens } from './checks/within.ts'

/** The columns of the matrix, in order. */
export const checks: readonly Check[] = [
  suite,
  answers,
  bytes,
  live,
  leaving,
  pace,
  limits,
  encodings,
  many,
  promises,
  inProcess,
  host,
  tokens,
  realtime,
]
