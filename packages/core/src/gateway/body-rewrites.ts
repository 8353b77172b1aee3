import type { JsonObject } from '../base/json/json.ts'
import type { RequestChanges } from '../formats/adaptations/adaptation.ts'
import type { Route } from '../operations/route.ts'

/** Returns the changes to a body of another path. */
export const bodyRewrite = ({ stream, rewritesBody }: Route, model: string | undefined): RequestChanges => ({
  set: { ...(model === undefined ? {} : { model }), ...(stream === true ? { stream } : {}) },
  drop: rewritesBody?.drop ?? [],
})

/** Returns the changes to a body of a route with defaults and tags of its own; undefined for none. */
export function completeBody(
  body: JsonObject,
  { bodyDefaults = {}, modelTag }: Route,
  hasModel: (name: string) => boolean,
): RequestChanges | undefined {
  const set: JsonObject = {}
  for (const [key, value] of Object.entries(bodyDefaults)) if (body[key] == null) set[key] = value
  const isRenamed = modelTag !== undefined && body.model == null && typeof body.name === 'string'
  const written = isRenamed ? body.name : body.model
  if (modelTag !== undefined && typeof written === 'string') {
    const bare = written.endsWith(modelTag) ? written.slice(0, -modelTag.length) : written
    const model = bare === written || hasModel(written) || !hasModel(bare) ? written : bare
    if (model !== body.model) set.model = model
  }
  return Object.keys(set).length === 0 ? undefined : { set, drop: isRenamed ? ['name'] : [] }
}
