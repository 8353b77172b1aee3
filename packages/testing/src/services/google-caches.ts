import { asList, asObject, asString, isObject, type JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import { countTokens } from '../base/tokens.ts'
import { invalidArgument } from '../formats/gemini/errors.ts'
import { readGeminiJson } from '../formats/gemini/read-json.ts'
import type { Route } from '../formats/route.ts'
import type { WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'

/** Cached contents of Google's API by id. */
export interface GoogleCacheMemory {
  readonly googleCaches: Map<string, JsonObject>
}

export const createGoogleCacheMemory = (): GoogleCacheMemory => ({ googleCaches: new Map() })

interface GoogleCacheCall {
  readonly head: { readonly method: string; readonly query: string }
  readonly route: Route
  readonly content: Pick<RequestBody, 'json'>
  readonly memory: GoogleCacheMemory
  readonly ids: Ids
  readonly now: number
  readonly exists: (model: string) => boolean
}

type GoogleCacheAnswer = { readonly json: JsonObject } | { readonly error: WireError }

/** Google does not tell a missing cached content from one of another account. */
const missing: WireError = {
  status: 403,
  type: 'PERMISSION_DENIED',
  message: 'CachedContent not found (or permission denied)',
}

/** Fewest tokens of a cached content. */
const minTokens = 1024

const invalid = (message: string): GoogleCacheAnswer => ({ error: invalidArgument(message) })

/** Handles a call about Google's cached contents. */
export function serveGoogleCache(call: GoogleCacheCall): GoogleCacheAnswer {
  const { head, route, memory } = call
  const { item: id } = route
  if (id === undefined) return head.method === 'POST' ? create(call) : list(call)
  const cache = memory.googleCaches.get(id)
  if (cache === undefined) return { error: missing }
  if (head.method === 'PATCH') return update(call, id, cache)
  if (head.method !== 'DELETE') return { json: cache }
  memory.googleCaches.delete(id)
  return { json: {} }
}

/** Returns Google's error for a request that refers to a missing cached content, or to one of another model. */
export function checkCachedContent(
  body: JsonObject,
  model: string,
  { googleCaches }: GoogleCacheMemory,
): WireError | undefined {
  const name = asString(body.cachedContent ?? body.cached_content)
  if (name === '') return undefined
  const cache = googleCaches.get(name.replace(/^cachedContents\//, ''))
  if (cache === undefined || !name.startsWith('cachedContents/')) return missing
  if (cache.model !== `models/${model}`)
    return invalidArgument(
      `Model used by GenerateContent request (models/${model}) and CachedContent (${asString(cache.model)}) has to be the same.`,
    )
  const double = ['systemInstruction', 'system_instruction', 'tools', 'toolConfig', 'tool_config'].find(
    (member) => body[member] !== undefined,
  )
  return double === undefined
    ? undefined
    : invalidArgument(
        'CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.',
      )
}

function create({ content, memory, ids, now, exists }: GoogleCacheCall): GoogleCacheAnswer {
  const body = isObject(content.json) ? content.json : {}
  const { error } = readGeminiJson(body, 'CachedContent')
  if (error) return { error }
  const model = asString(body.model)
  if (model === '') return invalid('* CachedContent.model: Model is required\n')
  if (!model.startsWith('models/')) return invalid('* CachedContent.model: unexpected model name format\n')
  if (!exists(model.slice('models/'.length)))
    return {
      error: {
        status: 404,
        type: 'NOT_FOUND',
        message: `${model} is not found for API version v1beta, or is not supported for createCachedContent. Call ListModels to see the list of available models and their supported methods.`,
      },
    }
  const end = endOf(body, now)
  if (typeof end !== 'number') return end
  const texts = [...asList(body.contents), body.systemInstruction ?? body.system_instruction].flatMap((one) =>
    asList(asObject(one).parts).map((part) => asString(asObject(part).text)),
  )
  const total = texts.reduce((sum, text) => sum + countTokens(text), 0)
  if (total < minTokens)
    return invalid(`Cached content is too small. total_token_count=${total}, min_total_token_count=${minTokens}`)
  const id = ids.lower(20)
  const time = new Date(now).toISOString()
  const cache: JsonObject = {
    name: `cachedContents/${id}`,
    model,
    createTime: time,
    updateTime: time,
    expireTime: new Date(end).toISOString(),
    ...(body.displayName === undefined ? {} : { displayName: body.displayName }),
    usageMetadata: { totalTokenCount: total },
  }
  memory.googleCaches.set(id, cache)
  return { json: cache }
}

function list({ head, memory }: GoogleCacheCall): GoogleCacheAnswer {
  const size = Number(new URLSearchParams(head.query).get('pageSize') ?? 10)
  if (!(size >= 1 && size <= 1000)) return invalid('page_size must be between 1 and 1000.')
  const cachedContents = [...memory.googleCaches.values()].reverse().slice(0, size)
  return { json: cachedContents.length === 0 ? {} : { cachedContents } }
}

/** Only the end of a cached content can change. */
function update({ content, memory, now }: GoogleCacheCall, id: string, cache: JsonObject): GoogleCacheAnswer {
  const body = isObject(content.json) ? content.json : {}
  const { error } = readGeminiJson(body, 'CachedContent')
  if (error) return { error }
  const other = Object.keys(body).find((name) => !['ttl', 'expireTime', 'expire_time', 'name'].includes(name))
  if (other !== undefined) return invalid(`* UpdateCachedContentRequest.update_mask: ${other} cannot be updated\n`)
  const end = endOf(body, now)
  if (typeof end !== 'number') return end
  const changed = { ...cache, updateTime: new Date(now).toISOString(), expireTime: new Date(end).toISOString() }
  memory.googleCaches.set(id, changed)
  return { json: changed }
}

/** Returns the end of a cached content in milliseconds since 1970: an hour from now by default. */
function endOf(body: JsonObject, now: number): number | GoogleCacheAnswer {
  // A member that is null counts as absent.
  const time = body.expireTime ?? body.expire_time ?? undefined
  const ttl = body.ttl ?? undefined
  if (ttl !== undefined && time !== undefined)
    return invalid('* CachedContent: only one of ttl and expire_time may be set\n')
  if (time !== undefined) {
    const end = Date.parse(asString(time))
    return Number.isNaN(end) ? invalid('* CachedContent.expire_time: must be a timestamp\n') : end
  }
  if (ttl === undefined) return now + 3_600_000
  const [, seconds] = /^(\d+(?:\.\d{1,9})?)s$/.exec(asString(ttl)) ?? []
  return seconds === undefined
    ? invalid(`Invalid value at 'cached_content.ttl' (type.googleapis.com/google.protobuf.Duration)`)
    : now + Number(seconds) * 1000
}
