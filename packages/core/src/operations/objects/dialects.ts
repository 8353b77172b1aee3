import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { Format } from '../../base/names.ts'
import type { ObjectKind } from '../../upstreams/upstream.ts'
import type { StoredObject } from '../responses/object-records.ts'

/** A page of a list that a client requests. */
export interface PageRequest {
  readonly limit: number
  readonly newestFirst: boolean
  /** The page begins after this id, in the order of the list. */
  readonly after?: string
  /** The page ends before this id. */
  readonly before?: string
  /** Only these objects. */
  readonly ids?: readonly string[]
}

/** Members with which a client chooses the lifetime of an object. */
interface LifetimeMembers {
  /** Member with a number of seconds (`3600s`). */
  readonly duration: string
  /** Members with a time (RFC 3339): the spellings of one member. */
  readonly ends: readonly string[]
  /** Lifetime of a new object without these members, in milliseconds. */
  readonly defaultMs: number
}

/** The parts of an API of stored objects that differ between formats and kinds. */
export interface ObjectDialect {
  /** Objects are created by an upload, by a JSON body, or by an upload in several requests. */
  readonly creates: 'upload' | 'json' | 'resumable'
  /** Beginning of the id of a record, before the id in paths: Google's name of the resource (`files/`). Default: none. */
  readonly prefix?: string
  /** The member with the id of an object. Default: `id`. */
  readonly idMember?: string
  /** The member that names the model of an object, with the collection before the name. Default: objects have no model. */
  readonly model?: { readonly member: string; readonly prefix: string }
  /** The member with the time at which the provider deletes an object. Default: none. */
  readonly endMember?: string
  /** The members with which a client chooses the lifetime of an object. Default: it cannot. */
  readonly lifetime?: LifetimeMembers
  /** Members of a created object whose values a list can be filtered by, with the same names as query parameters. */
  readonly filters?: readonly string[]
  /** Milliseconds after which the provider deletes an object. Default: it keeps objects until they are deleted. */
  readonly lifetimeMs?: number
  /**
   * The provider reports an object that it does not have with 403, as it does for a rejected credential. `accessQuery`: the query of a
   * short list, which succeeds if the credential is accepted.
   */
  readonly hidesMissing?: { readonly accessQuery: string }
  /** The objects are batches of requests to models; see `batchDialects`. */
  readonly isBatch?: true
  /** Absent: the API has no list. */
  readonly list?: {
    /** Throws GatewayError for an invalid parameter. */
    readPage(query: URLSearchParams): PageRequest
    /** @param last id of the last object of the page, even if its upstream no longer has it */
    write(objects: readonly JsonObject[], hasMore: boolean, last: string | undefined): JsonObject
  }
  /** Query parameters that are passed to the upstream. Others could hold a credential. */
  readonly passes?: readonly string[]
}

/** Each object of a page is an upstream call. */
const maxPage = 100

const idOf = (object: JsonObject | undefined): Json => object?.id ?? null

const openaiList: NonNullable<ObjectDialect['list']> = {
  readPage(query) {
    const after = query.get('after')
    return {
      limit: readLimit(query, 'limit', 10_000, maxPage),
      newestFirst: readOrder(query),
      ...(after === null ? {} : { after }),
    }
  },
  write: (data, hasMore) => ({
    object: 'list',
    data: [...data],
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: hasMore,
  }),
}

const anthropicList: NonNullable<ObjectDialect['list']> = {
  readPage(query) {
    for (const name of ['workspace_id', 'scope_id'])
      if (query.has(name))
        throw new GatewayError('invalid_request', `${name} is not supported by this gateway: leave it out.`, {
          param: name,
        })
    // Newer clients send `page`, older ones `after_id`.
    const after = query.get('page') ?? query.get('after_id')
    const ids = [...query.getAll('ids'), ...query.getAll('ids[]')].flatMap((text) => text.split(','))
    const before = query.get('before_id')
    return {
      limit: readLimit(query, 'limit', 1000, 20),
      newestFirst: true,
      ...(after === null ? {} : { after }),
      ...(before === null ? {} : { before }),
      ...(ids.length === 0 ? {} : { ids }),
    }
  },
  write: (data, hasMore, last) => ({
    data: [...data],
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: hasMore,
    next_page: hasMore ? (last ?? null) : null,
  }),
}

const googleList = (member: string): NonNullable<ObjectDialect['list']> => ({
  readPage(query) {
    const after = query.get('pageToken') ?? query.get('page_token')
    const size = query.has('pageSize') ? 'pageSize' : 'page_size'
    return {
      limit: readLimit(query, size, 1000, 10),
      newestFirst: true,
      ...(after === null || after === '' ? {} : { after }),
    }
  },
  write: (data, hasMore, last) => ({
    ...(data.length === 0 ? {} : { [member]: [...data] }),
    ...(hasMore && last !== undefined ? { nextPageToken: last } : {}),
  }),
})

const skillList: NonNullable<ObjectDialect['list']> = {
  readPage(query) {
    const source = query.get('source')
    if (source !== null && source !== 'custom')
      throw new GatewayError(
        'invalid_request',
        `source is '${source.slice(0, 100)}': this gateway lists your own skills only. Leave it out, or write 'custom'.`,
        { param: 'source' },
      )
    const after = query.get('page')
    return {
      limit: readLimit(query, 'limit', maxPage, 20),
      newestFirst: true,
      ...(after === null ? {} : { after }),
    }
  },
  write: (data, hasMore, last) => ({
    data: [...data],
    has_more: hasMore,
    next_page: hasMore ? (last ?? null) : null,
  }),
}

/** The dialects of each kind, by the format of the client. */
export const objectDialects: { readonly [K in ObjectKind]: { readonly [F in Format]?: ObjectDialect } } = {
  files: {
    chat: { creates: 'upload', filters: ['purpose'], list: openaiList },
    messages: { creates: 'upload', list: anthropicList },
    gemini: {
      creates: 'resumable',
      prefix: 'files/',
      lifetimeMs: 48 * 60 * 60 * 1000,
      hidesMissing: { accessQuery: 'pageSize=1' },
      list: googleList('files'),
    },
  },
  caches: {
    gemini: {
      creates: 'json',
      prefix: 'cachedContents/',
      idMember: 'name',
      model: { member: 'model', prefix: 'models/' },
      endMember: 'expireTime',
      lifetime: { duration: 'ttl', ends: ['expireTime', 'expire_time'], defaultMs: 60 * 60 * 1000 },
      hidesMissing: { accessQuery: 'pageSize=1' },
      list: googleList('cachedContents'),
      passes: ['updateMask', 'update_mask'],
    },
  },
  batches: {
    chat: { creates: 'json', list: openaiList, isBatch: true },
    messages: { creates: 'json', list: anthropicList, passes: ['beta'], isBatch: true },
  },
  calls: { chat: { creates: 'json' } },
  // The query of a list of versions is the upstream's own.
  skills: { messages: { creates: 'upload', list: skillList, passes: ['beta', 'limit', 'page'] } },
  conversations: {
    responses: { creates: 'json', passes: ['include', 'include[]', 'limit', 'order', 'after'] },
  },
}

function readLimit(query: URLSearchParams, name: string, most: number, byDefault: number): number {
  const text = query.get(name)
  if (text === null) return byDefault
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > most)
    throw new GatewayError(
      'invalid_request',
      `${name} is '${text.slice(0, 100)}': write a number from 1 to ${most}. A page has at most ${maxPage} objects.`,
      { param: name },
    )
  return Math.min(limit, maxPage)
}

function readOrder(query: URLSearchParams): boolean {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc')
    throw new GatewayError('invalid_request', `order is '${order.slice(0, 100)}': write 'asc' or 'desc'.`, {
      param: 'order',
    })
  return order === 'desc'
}

/** Returns the objects of a page, and whether more follow. An unknown cursor is an error: it is not an id of the caller. */
export function pageOf(
  all: readonly StoredObject[],
  { limit, newestFirst, after, before, ids }: PageRequest,
): { readonly page: readonly StoredObject[]; readonly hasMore: boolean } {
  const wanted = ids === undefined ? all : all.filter(({ id }) => ids.includes(id))
  const sorted = newestFirst ? [...wanted].reverse() : wanted
  const start = after === undefined ? 0 : positionOf(sorted, after) + 1
  const end = before === undefined ? sorted.length : positionOf(sorted, before)
  // A page before an id ends with its neighbor.
  const from = before === undefined ? start : Math.max(start, end - limit)
  const to = Math.min(end, from + limit)
  return { page: sorted.slice(from, to), hasMore: before === undefined ? to < end : from > start }
}

function positionOf(objects: readonly StoredObject[], cursor: string): number {
  const at = objects.findIndex(({ id }) => id === cursor)
  if (at < 0) throw new GatewayError('invalid_request', `No object with id '${cursor.slice(0, 100)}' found.`)
  return at
}
