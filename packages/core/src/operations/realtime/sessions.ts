import * as z from 'zod'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { complain } from '../../formats/chat/validate.ts'
import { validateBody } from '../../formats/shared/validate.ts'
import type { Dialect, Operation } from '../operation.ts'

const plain = z.looseObject({ model: z.string().min(1) })
const nested = z.looseObject({ session: z.looseObject({ model: z.string().min(1) }) })

const sessionOf = (body: JsonObject): JsonObject => (isObject(body.session) ? body.session : {})

const shared = { errors: 'chat', tapResponse: () => ({}) } as const

/**
 * Opening a session for somebody else: the answer holds a short-lived secret of the provider's, with which a browser
 * connects to the provider by itself. What it does there passes by the gateway: no limits, no books.
 */
export const realtimeSessions: Operation<never, never> = {
  name: 'realtime-sessions',
  dialects: [
    { ...shared, name: 'sessions', validate: (body: Json) => validateBody(plain, body, complain) },
    {
      ...shared,
      name: 'client-secrets',
      // The model stands one level down; the rest of the gateway looks for it here.
      validate(body: Json) {
        const valid = validateBody(nested, body, complain)
        return { ...valid, model: sessionOf(valid).model ?? null }
      },
      // Written anew even where the name stays: of a member given twice, the upstream might read the one nobody checked.
      passThroughEdit: (body, { model }) => ({ session: { ...sessionOf(body), model } }),
    } satisfies Dialect<never, never>,
  ],
}
