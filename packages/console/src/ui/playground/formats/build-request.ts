import type { ApiRequest, Format, Json, JsonObject, Settings, Turn } from './format.ts'

/** Builds the request of a format, and merges the extra fields of the settings into its body. */
export function buildRequest(format: Format, turns: readonly Turn[], settings: Settings): ApiRequest {
  const request = format.build(turns.map(keptAttachments), settings)
  return settings.extra === undefined ? request : { ...request, body: mergeFields(request.body, settings.extra) }
}

/** Objects are merged by field; all other values of `extra` replace those of the body. */
export function mergeFields(body: JsonObject, extra: JsonObject): JsonObject {
  const merged = new Map<string, Json>(Object.entries(body))
  for (const [name, value] of Object.entries(extra)) {
    const before = merged.get(name)
    merged.set(name, isObject(before) && isObject(value) ? mergeFields(before, value) : value)
  }
  return Object.fromEntries(merged)
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Leaves out attachments whose content was too large to keep over a reload. */
function keptAttachments(turn: Turn): Turn {
  if (turn.role === 'assistant') return turn
  const { files = [], images, ...question } = turn
  const kept = files.filter(({ data }) => data !== '')
  return {
    ...question,
    images: images.filter(({ data }) => data !== ''),
    ...(kept.length === 0 ? {} : { files: kept }),
  }
}
