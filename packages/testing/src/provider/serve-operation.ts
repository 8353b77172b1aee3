import type { JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { Prompt } from '../contract/prompt.ts'
import type { Script } from '../contract/script.ts'
import { directiveSettings, readDirectives } from '../demo/directives.ts'
import type { Route } from '../formats/route.ts'
import type { Service, ServiceRequest } from '../services/service.ts'
import { invalidRequest, type WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'
import { errorResponse, type ResponseContext, sendResponse } from './send-response.ts'

interface ServiceCall extends Omit<ResponseContext, 'script'> {
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

/** Handles a call of an operation other than generation: a test's own script first, then the checks, then the demo. */
export async function serveOperation(call: ServiceCall): Promise<Response> {
  const { service, scripted, route, content, body } = call
  if (scripted?.raw) return sendResponse({ ...call, script: scripted }, undefined)
  const { form } = content
  const named = call.exchange.record.model
  const model = named ?? service.defaultModel ?? ''
  const request: ServiceRequest = { body, form, model, route }
  const error =
    unreadableBodyError(call) ??
    (call.validate ? service.check(request) : undefined) ??
    (named === undefined || call.exists(named) ? undefined : service.conventions.unknownModelError(model, route))
  if (error) return errorResponse(call, error)
  const script = scripted ?? directedScript(service.directiveText(request))
  const { brain, ids, now } = call
  return sendResponse({ ...call, script }, () => ({
    rendering: service.render({ ...request, script, scripted: scripted !== undefined, brain, ids, now }),
    stream: call.exchange.record.stream,
  }))
}

/** Returns the script of the directives; their text replaces the demo's. */
function directedScript(text: string): Script {
  const { directives } = readDirectives(text)
  const say = directives.find(({ name }) => name === 'say')
  return { ...directiveSettings(directives), ...(say ? { text: say.value } : {}) }
}

function unreadableBodyError({ service, content }: ServiceCall): WireError | undefined {
  if (service.read(content) !== undefined) return undefined
  const { contentTypes, conventions } = service
  const { contentType } = content
  const wanted = contentTypes.find((type) => type === contentType)
  if (wanted === 'multipart/form-data') return invalidRequest(400, 'Could not parse multipart form')
  // A body without a content type counts as JSON if the service accepts JSON.
  if (wanted !== undefined || contentTypes[0] === 'application/json') return conventions.notJsonError
  return invalidRequest(
    400,
    `Unsupported content type: '${contentType}'. This API method only accepts '${contentTypes[0] ?? ''}' requests, but you specified the header 'Content-Type: ${contentType}'. Please try again with a supported content type.`,
    { code: 'unsupported_content_type' },
  )
}
