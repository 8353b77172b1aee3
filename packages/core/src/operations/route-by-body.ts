import { isObject } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Codec } from '../formats/codec.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Route } from './routes.ts'

/** A body whose operation is not known yet: the operation's own dialect checks it. */
export const anyBody = (body: Json): JsonObject => body as JsonObject

export async function checkEarly(request: RequestBody, validate: Codec['checkRequest']): Promise<RequestBody> {
  validate(request.value)
  return request
}

/** The route as it is for a body, where one path stands for two operations. */
export function routeFor(route: Route, body: Json): Route {
  const { byInstance } = route
  const instances = isObject(body) ? body.instances : undefined
  const first = Array.isArray(instances) ? instances[0] : instances
  if (byInstance === undefined || !isObject(first) || first.prompt !== undefined) return route
  const { members, operation, dialect } = byInstance
  return members.some((member) => Object.hasOwn(first, member)) ? { ...route, operation, dialect } : route
}
