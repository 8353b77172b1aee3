import * as z from 'zod'
import { optionalBoolean } from '../shared/pass-through.ts'

/** What every responses request is checked by; see shared/pass-through.ts. `requestSchema` is for translations. */
export const passThroughSchema = z.looseObject({
  model: z.string().min(1),
  // The gateway frames and counts the response by these.
  stream: optionalBoolean,
  background: optionalBoolean,
})
