import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { complain } from '../../formats/chat/validate.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { bodyCheck, validateBody } from '../../formats/shared/validate.ts'
import type { Dialect, Operation } from '../operation.ts'

const named = z.looseObject({ model: z.string().min(1) })

/** Returns the schema of a body that names the model at a path. */
const nested = (path: readonly string[]): z.Schema =>
  path.reduceRight<z.Schema>((inner, name) => z.looseObject({ [name]: inner }), named)

const objectAt = (body: JsonObject, path: readonly string[]): JsonObject => {
  let object = body
  for (const name of path) {
    const inner = object[name]
    object = isObject(inner) ? inner : {}
  }
  return object
}

/** Returns a copy of a body with the model at a path. */
function withModel(body: JsonObject, [name, ...inner]: readonly string[], model: string): JsonObject {
  return name === undefined ? { ...body, model } : { ...body, [name]: withModel(objectAt(body, [name]), inner, model) }
}

/** The object that holds the model, in the bodies of one dialect. Its schema must be a constant: its compiled form is kept. */
interface ModelHolder {
  readonly path: readonly [string, ...string[]]
  readonly schema: z.Schema
}

const holder = (...path: ModelHolder['path']): ModelHolder => ({ path, schema: nested(path) })

const session = holder('session')
const sessionTranscription = holder('session', 'audio', 'input', 'transcription')
const inputTranscription = holder('input_audio_transcription')

const shared = { errors: 'chat', tapResponse: () => ({}) } as const

/** Creates the dialect of bodies that name the model below the top, where the gateway expects it. */
const nestedDialect = (name: string, holderOf: (body: Json) => ModelHolder) =>
  ({
    ...shared,
    name,
    validate(body: Json) {
      const { path, schema } = holderOf(body)
      const valid = validateBody(schema, body, complain)
      return { ...valid, model: objectAt(valid, path).model ?? null }
    },
    // Written again even if the name stays: of a duplicate member, the upstream might read the unchecked one.
    passThroughEdit(body, { model }) {
      const [first, ...inner] = holderOf(body).path
      return { [first]: withModel(objectAt(body, [first]), inner, model) }
    },
  }) satisfies Dialect<never, never>

/** A transcription session has no voice model. */
function secretHolder(body: Json): ModelHolder {
  const given = isObject(body) ? objectAt(body, ['session']) : {}
  if (given.type !== 'transcription') return session
  if (given.model !== undefined)
    throw new GatewayError(
      'invalid_request',
      "Unknown parameter: 'session.model'. A transcription session names its model in 'session.audio.input.transcription.model'.",
      { param: 'session.model' },
    )
  return sessionTranscription
}

/**
 * Creates a session for a browser: the response holds a short-lived secret of the provider, with which the browser connects to the provider
 * itself. That session bypasses the gateway: it has no limits and no call record.
 */
export const realtimeSessions: Operation<never, never> = {
  name: 'realtime-sessions',
  issuesCredentials: true,
  dialects: [
    { ...shared, name: 'sessions', validate: bodyCheck(named, complain) },
    nestedDialect('client-secrets', secretHolder),
    nestedDialect('transcription-sessions', () => inputTranscription),
    nestedDialect('translation-secrets', () => session),
  ],
}
