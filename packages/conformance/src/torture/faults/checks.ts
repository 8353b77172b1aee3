import type { Check } from '../check.ts'
import { badBody } from './bad-body.ts'
import { encodedAnswers } from './encodings.ts'
import { keepAliveRace } from './keep-alive.ts'
import { noAnswer } from './no-answer.ts'
import { redirect } from './redirect.ts'
import { stalled } from './stalls.ts'
import { statusTable } from './statuses.ts'
import { unreachable } from './unreachable.ts'

export const faultChecks: readonly Check[] = [
  noAnswer,
  stalled,
  unreachable,
  badBody,
  statusTable,
  keepAliveRace,
  redirect,
  encodedAnswers,
]
