import * as z from 'zod'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { complain } from '../../formats/chat/validate.ts'
import { bodyCheck, validateBody } from '../../formats/shared/validate.ts'
import type { Dialect, Operation } from '../operation.ts'

const plain = z.looseObject({ model: z.string().min(1) })
const nested = z.looseObject({ session: z.looseObject({ model: z.string().min(1) }) })

const sessionOf = (body: JsonObject): JsonObject => (isObject(body.session) ? body.session : {})

const shared = { errors: 'chat', tapResponse: () => ({}) } as const

/**
 * Creates a session for a browser: the response holds a short-lived secret of the provider, with which the browser connects to the provider
 * itself. That session bypasses the gateway: it has no limits and no call record.
 */
export const realtimeSessions: Operation<never, never> = {
  name: 'realtime-sessions',
  issuesCredentials: true,
  dialects: [
    { ...shared, name: 'sessions', validate: bodyCheck(plain, complain) },
    {
      ...shared,
      name: 'client-secrets',
      // The model is one level down; the gateway expects it at the top.
      validate(body: Json) {
        const valid = validateBody(nested, body, complain)
        return { ...valid, model: sessionOf(valid).model ?? null }
      },
      // Written again even if the name stays: of a duplicate member, the upstream might read the unchecked one.
      passThroughEdit: (body, { model }) => ({ session: { ...sessionOf(body), model } }),
    } satisfies Dialect<never, never>,
  ],
}
