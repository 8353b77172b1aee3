import { callbackMatrix } from './callbacks/matrix.ts'
import type { Check } from './check.ts'
import { clockStep } from './clients/clock-step.ts'
import { stalledReader } from './clients/stalled-reader.ts'
import { linearCost } from './complexity/linear-cost.ts'
import { badBody } from './faults/bad-body.ts'
import { encodedAnswers } from './faults/encodings.ts'
import { keepAliveRace } from './faults/keep-alive.ts'
import { noAnswer } from './faults/no-answer.ts'
import { redirect } from './faults/redirect.ts'
import { stalled } from './faults/stalls.ts'
import { statusTable } from './faults/statuses.ts'
import { unreachable } from './faults/unreachable.ts'
import { bodySize } from './input/body-size.ts'
import { depth } from './input/depth.ts'
import { exact } from './input/exact-json.ts'
import { framing } from './input/framing.ts'
import { fuzz } from './input/fuzz.ts'
import { giant } from './input/giant.ts'
import { malformed } from './input/malformed.ts'
import { hostileNames } from './input/names.ts'
import { uploads } from './input/upload.ts'
import { idleWebSockets } from './life/idle-websockets.ts'
import { memory } from './life/memory.ts'
import { redisOutage } from './life/redis-outage.ts'
import { shutdown } from './life/shutdown.ts'
import { modelMatrix } from './models/model-matrix.ts'
import { redaction } from './redaction/matrix.ts'
import { amplification } from './retries/amplification.ts'
import { billing } from './retries/billing.ts'
import { breaker } from './retries/breaker.ts'
import { retryBudget } from './retries/budget.ts'
import { disconnectInBackoff } from './retries/disconnect-in-backoff.ts'
import { noRetryAfterFirstByte } from './retries/first-byte.ts'
import { healthIsolation } from './retries/health-isolation.ts'
import { retryAfter } from './retries/retry-after.ts'
import { authentication } from './secrets/authentication.ts'
import { canaries } from './secrets/canaries.ts'
import { chosenHost } from './secrets/chosen-host.ts'
import { isolation } from './secrets/isolation.ts'
import { responseSplitting } from './secrets/response-splitting.ts'
import { references } from './secrets/stored-references.ts'
import { tokenStore } from './secrets/token-store.ts'
import { clientDisconnect, nothingLeaks } from './streams/client-disconnect.ts'
import { cutOff } from './streams/cut-off.ts'
import { delay } from './streams/delay.ts'
import { heartbeat } from './streams/heartbeat.ts'
import { honesty } from './streams/honesty.ts'
import { splits } from './streams/splits.ts'
import { errorMidStream, malformedEvent } from './streams/upstream-errors.ts'
import { usage } from './streams/usage.ts'

const streams: readonly Check[] = [
  clientDisconnect,
  nothingLeaks,
  splits,
  cutOff,
  errorMidStream,
  malformedEvent,
  honesty,
  usage,
  heartbeat,
  delay,
]
const faults: readonly Check[] = [
  noAnswer,
  stalled,
  unreachable,
  badBody,
  statusTable,
  keepAliveRace,
  redirect,
  encodedAnswers,
]
const retries: readonly Check[] = [
  noRetryAfterFirstByte,
  amplification,
  retryAfter,
  retryBudget,
  breaker,
  disconnectInBackoff,
  billing,
  healthIsolation,
]
const input: readonly Check[] = [
  bodySize,
  depth,
  malformed,
  exact,
  fuzz,
  giant,
  hostileNames,
  framing,
  uploads,
  linearCost,
]
const secrets: readonly Check[] = [
  authentication,
  canaries,
  tokenStore,
  chosenHost,
  isolation,
  responseSplitting,
  references,
  redaction,
  modelMatrix,
]
const lifetime: readonly Check[] = [
  shutdown,
  redisOutage,
  memory,
  idleWebSockets,
  stalledReader,
  clockStep,
  callbackMatrix,
]

/** All rows of the torture table, in the order of their numbers. */
export const checks: readonly Check[] = [...streams, ...faults, ...retries, ...input, ...secrets, ...lifetime].sort(
  (a, b) => a.row - b.row,
)
