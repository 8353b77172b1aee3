import type { JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { Prompt } from '../contract/prompt.ts'
import type { Script } from '../contract/script.ts'
import { settingsOf } from '../demo/directive-settings.ts'
import { readDirectives } from '../demo/directives.ts'
import type { Route } from '../formats/route.ts'
import type { Asked, Service } from '../services/service.ts'
import { invalidRequest, type WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'
import { errorResponse, respond, type Sending } from './send-response.ts'

interface ServiceCall extends Omit<Sending, 'script'> {
  readonly service: Service
  readonly route: Route
  readonly content: RequestBody
  /** The body as the service reads it; empty if it could not. */
  readonly body: JsonObject
  readonly scripted: Script | undefined
  readonly validate: boolean
  readonly exists: (model: string) => boolean
  readonly brain: (prompt: Prompt) => Script
  readonly ids: Ids
  readonly now: () => number
}

/** Answers a call of another operation than generation: a test's own script first, then the checks, then the demo. */
export async function serve(call: ServiceCall): Promise<Response> {
  const { service, scripted, route, content, body } = call
  if (scripted?.raw) return respond({ ...call, script: scripted }, undefined)
  const { form } = content
  const named = call.exchange.record.model
  const model = named ?? service.defaultModel ?? ''
  const asked: Asked = { body, form, model, route }
  const error =
    unreadable(call) ??
    (call.validate ? service.check(asked) : undefined) ??
    (named === undefined || call.exists(named) ? undefined : service.voice.unknownModel(model, route))
  if (error) return errorResponse(call, error)
  const script = scripted ?? directed(service.said(asked))
  const { brain, ids, now } = call
  return respond({ ...call, script }, () => ({
    rendering: service.render({ ...asked, script, scripted: scripted !== undefined, brain, ids, now }),
    stream: call.exchange.record.stream,
  }))
}

/** Returns the script of the directives; their text replaces the demo's. */
function directed(text: string): Script {
  const { directives } = readDirectives(text)
  const say = directives.find(({ name }) => name === 'say')
  return { ...settingsOf(directives), ...(say ? { text: say.value } : {}) }
}

function unreadable({ service, content }: ServiceCall): WireError | undefined {
  if (service.read(content) !== undefined) return undefined
  const { takes, voice } = service
  const { contentType } = content
  const wanted = takes.find((type) => type === contentType)
  if (wanted === 'multipart/form-data') return invalidRequest(400, 'Could not parse multipart form')
  // A body without a content type counts as JSON if the service accepts JSON.
  if (wanted !== undefined || takes[0] === 'application/json') return voice.notJson
  return invalidRequest(
    400,
    `Unsupported content type: '${contentType}'. This API method only accepts '${takes[0] ?? ''}' requests, but you specified the header 'Content-Type: ${contentType}'. Please try again with a supported content type.`,
    { code: 'unsupported_content_type' },
  )
}
