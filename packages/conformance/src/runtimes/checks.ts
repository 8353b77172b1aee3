import type { Check } from './check.ts'
import { answers } from './checks/answers.ts'
import { bytes } from './checks/bytes.ts'
import { many } from './checks/concurrency.ts'
import { encodings } from './checks/encodings.ts'
import { host, inProcess, tokens } from './checks/in-process.ts'
import { limits } from './checks/limits.ts'
import { promises } from './checks/promises.ts'
import { leaving, live, pace } from './checks/streams.ts'
import { realtime, suite } from './checks/suite.ts'

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
