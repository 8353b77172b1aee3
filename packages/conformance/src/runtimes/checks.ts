import type { Check } from './check.ts'
import { bytes } from './checks/bytes.ts'
import { many } from './checks/concurrency.ts'
import { encodings } from './checks/encodings.ts'
import { host, inProcess, tokens } from './checks/in-process.ts'
import { limits } from './checks/limits.ts'
import { promises } from './checks/promises.ts'
import { responses } from './checks/responses.ts'
import { disconnects, live, pace } from './checks/streams.ts'
import { realtime, suite } from './checks/suite.ts'

/** The columns of the matrix, in order. */
export const checks: readonly Check[] = [
  suite,
  responses,
  bytes,
  live,
  disconnects,
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
