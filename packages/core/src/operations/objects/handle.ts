import { inBatches } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { admitCall } from '../../calls/admission.ts'
import { notifyRequest } from '../../calls/plugin-hooks.ts'
import { recordRequest } from '../../calls/try-targets.ts'
import { acceptsReference } from '../../config/references.ts'
import { isSharedCodec } from '../../formats/codec-registry.ts'
import { checkTopLevel } from '../../formats/references/find.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Reply } from '../../http/inbound.ts'
import type { ResolvedTarget } from '../../routing/router.ts'
import type { ObjectKind } from '../../upstreams/upstream.ts'
import { referenceSchemeOf } from '../references/notice.ts'
import type { StoredObject } from '../responses/object-records.ts'
import { checkCount } from '../responses/object-records.ts'
import type { Handler, RoutedCall } from '../route.ts'
import {
  recordModel,
  recordStoredTokens,
  targetOfModel,
  withClientModel,
  withClientModelIn,
  withTargetModel,
} from './bound-model.ts'
import { type ObjectDialect, objectDialects, pageOf } from './dialects.ts'
import { type ObjectCall, streamOf } from './object-call.ts'
import { continueUpload, startUpload, uploadIdOf } from './resumable-upload.ts'
import { type ObjectRequest, type ObjectUpstream, objectReply, relayContent, requestJson } from './send.ts'

const noBody: RequestBody = { bytes: new Uint8Array(0), text: '', members: [], value: {}, fields: {} }

/**
 * Handles every call about objects that upstreams store: creates, lists, reads, changes and deletes them. Requests and responses pass
 * unchanged. An object belongs to the caller that created it; for all others its id is not found, without an upstream call.
 */
export const handleObject: Handler = async (call) => {
  const { snapshot, shared, route, codec, record, inbound, signal } = call
  const kind = route.object as ObjectKind
  const dialect = objectDialects[kind][codec.format]
  if (dialect === undefined) throw new TypeError(`${kind} have no dialect for the format ${codec.format}`)
  const readsBody =
    route.method !== 'GET' &&
    route.method !== 'DELETE' &&
    (route.operation !== 'create-object' || createsFromJson(dialect, call))
  const request = readsBody ? await call.readBody(objectBody) : noBody
  const isCreation = route.operation === 'create-object' || route.operation === 'create-cache'
  if (isCreation) recordModel(call, dialect, request)
  const admitted = { shared, record, inbound, signal, request }
  recordRequest(admitted)
  notifyRequest(admitted)
  const records = await snapshot.recordsOf(record.identity)
  const objectCall: ObjectCall = { call, kind, dialect, records, isShared: shared.references[kind] === 'pass' }
  const target =
    isCreation && dialect.model !== undefined
      ? targetOfModel(call, request, (name) => upstreamOf(objectCall, name) !== undefined)
      : undefined
  await admitCall(admitted, target === undefined ? [] : [target])
  if (readsBody) await checkBody(call, request)
  switch (route.operation) {
    case 'create-object':
    case 'create-cache':
      return create(objectCall, request, target)
    case 'list-objects':
      return list(objectCall)
    default:
      return use(objectCall, request)
  }
}

/** Returns whether the body of a creation is JSON. The first request of a resumable upload describes the file. */
const createsFromJson = ({ creates }: ObjectDialect, { inbound }: RoutedCall): boolean =>
  creates === 'json' || (creates === 'resumable' && uploadIdOf(inbound) === undefined)

/** Checks references to stored objects in a body: it is stored, and read for the caller later. */
async function checkBody({ snapshot, route, record }: RoutedCall, request: RequestBody): Promise<void> {
  const scheme = referenceSchemeOf(route)
  if (scheme === undefined) return
  const names = request.members.map(({ key }) => key)
  checkTopLevel(scheme, names)
  await snapshot.checkReferences(scheme, request, record.identity)
}

const objectBody = (body: Json): JsonObject => {
  if (isObject(body)) return body
  throw new GatewayError('invalid_request', 'The request body must be a JSON object.')
}

/** Returns the number of the caller's objects. Deletes the records of those that their upstream has deleted after their lifetime. */
async function countOwn({ kind, dialect, records }: ObjectCall): Promise<number> {
  const all = await records.objects.list(kind)
  const expired = all.filter((object) => hasPrefix(dialect, object.id) && isExpired(dialect, object))
  if (expired.length > 0)
    await records.objects.delete(
      kind,
      expired.map(({ id }) => id),
    )
  return all.length - expired.length
}

async function create(objectCall: ObjectCall, request: RequestBody, model?: ResolvedTarget): Promise<Reply> {
  const { call, kind, dialect, records, isShared } = objectCall
  if (dialect.creates === 'resumable' && uploadIdOf(call.inbound) !== undefined)
    return continueUpload(objectCall, (name) => upstreamOf(objectCall, name))
  const target = (model && upstreamOf(objectCall, model.upstreamName)) ?? defaultUpstream(objectCall)
  if (!records.isEnabled && !isShared) throw withoutOwner(kind)
  if (records.isEnabled) checkCount(kind, await countOwn(objectCall))
  if (dialect.creates === 'resumable') return startUpload(objectCall, target, request)
  checkName(dialect, request)
  const sent: ObjectRequest = {
    method: 'POST',
    path: target.path,
    query: passedQuery(objectCall),
    ...(dialect.creates === 'upload'
      ? upload(call)
      : model === undefined
        ? jsonBody(request)
        : jsonBody({ bytes: withTargetModel(dialect, request, model.model) })),
  }
  const { record } = call
  if (model !== undefined) {
    record.upstream = model.upstreamName
    record.upstreamModel = model.model
    record.upstreamFormat = isSharedCodec(call.codec) ? call.codec.format : undefined
    record.lane = 'wire'
  }
  const { value, body } = await requestJson(call, target, sent)
  if (model !== undefined) recordStoredTokens(call, value)
  const id = value[dialect.idMember ?? 'id']
  if (typeof id !== 'string' || id === '' || !hasPrefix(dialect, id))
    throw new GatewayError('upstream_bad_response', 'The upstream created an object without an id.')
  if (records.isEnabled) {
    try {
      const fields = { ...fieldsOf(dialect, value), ...(model === undefined ? {} : { model: record.model }) }
      await records.objects.save(kind, { id, upstream: target.name, createdAt: Date.now(), fields })
    } catch (cause) {
      // Without a record no caller could use or delete the object.
      await requestJson(call, target, { method: 'DELETE', path: pathOf(dialect, target, id) }).catch(() => {})
      throw new GatewayError('internal', 'The owner of the new object could not be stored. Try again later.', { cause })
    }
  }
  return objectReply(call, withClientModelIn(dialect, body, model === undefined ? undefined : record.model))
}

/** Rejects a creation whose client chooses the id: it could choose that of another caller's object. */
function checkName({ idMember = 'id' }: ObjectDialect, { value }: RequestBody): void {
  if (value[idMember] !== undefined && value[idMember] !== null)
    throw new GatewayError('invalid_request', `${idMember}: leave it out. The provider chooses it.`, {
      param: idMember,
    })
}

/** Returns the members of an object that its record holds. */
const fieldsOf = ({ filters = [], endMember }: ObjectDialect, value: JsonObject): Record<string, string> =>
  Object.fromEntries(
    [...filters, ...(endMember === undefined ? [] : [endMember])].flatMap((name) => {
      const field = value[name]
      return typeof field === 'string' ? [[name, field]] : []
    }),
  )

/** Returns the path of an object at its upstream. */
const pathOf = ({ prefix = '' }: ObjectDialect, target: ObjectUpstream, id: string): string =>
  `${target.path}/${encodeURIComponent(id.slice(prefix.length))}`

/** Returns the client's upload: it streams to the upstream as it arrives. */
function upload({ inbound, record, shared }: RoutedCall): Pick<ObjectRequest, 'headers' | 'body'> {
  const type = inbound.header('content-type') ?? ''
  if (!/^multipart\/form-data\s*;/i.test(type))
    throw new GatewayError(
      'unsupported_media_type',
      `Unsupported content type '${type.slice(0, 100)}': send 'multipart/form-data'.`,
    )
  const length = inbound.header('content-length')
  return {
    headers: { 'content-type': type, ...(length === undefined ? {} : { 'content-length': length }) },
    body: streamOf(record.capture?.watchRequest(inbound) ?? inbound, shared.limits),
  }
}

const jsonBody = ({ bytes }: { readonly bytes: string | Uint8Array }): Pick<ObjectRequest, 'headers' | 'body'> => ({
  headers: { 'content-type': 'application/json' },
  body: bytes,
})

/** Lists the caller's objects. The gateway knows their ids; each object is read from its upstream. */
async function list(objectCall: ObjectCall): Promise<Reply> {
  const { call, kind, dialect, records, isShared } = objectCall
  if (dialect.list === undefined) throw new TypeError(`${kind} have no list`)
  const query = new URLSearchParams(call.inbound.query)
  const page = dialect.list.readPage(query)
  if (isShared) {
    const target = defaultUpstream(objectCall)
    const { body } = await requestJson(call, target, { method: 'GET', path: target.path, query: sharedQuery(query) })
    return objectReply(call, body)
  }
  const filters = (dialect.filters ?? []).flatMap((name) => {
    const value = query.get(name)
    return value === null ? [] : [{ name, value }]
  })
  const own = (await records.objects.list(kind)).filter((object) => {
    const { id, upstream, fields = {} } = object
    const isServed =
      upstreamOf(objectCall, upstream) !== undefined && hasPrefix(dialect, id) && !isExpired(dialect, object)
    return isServed && filters.every(({ name, value }) => fields[name] === value)
  })
  const { page: wanted, hasMore } = pageOf(own, page)
  const found = new Map<string, JsonObject>()
  /** Upstreams that reported an object as missing, or their credential as rejected. */
  const hiding = new Map<string, ObjectUpstream>()
  await inBatches(wanted, async (object) => {
    const value = await readOwn(objectCall, object, hiding)
    if (value !== undefined) found.set(object.id, value)
  })
  for (const target of hiding.values()) await checkAccess(objectCall, target)
  const objects = wanted.map(({ id }) => found.get(id)).filter((object) => object !== undefined)
  return objectReply(call, stringifyExact(dialect.list.write(objects, hasMore, wanted.at(-1)?.id)))
}

/** Returns an object of a list; undefined if its upstream no longer has it, which also ends its record. */
async function readOwn(
  objectCall: ObjectCall,
  { id, upstream, fields }: StoredObject,
  hiding: Map<string, ObjectUpstream>,
): Promise<JsonObject | undefined> {
  const { call, kind, dialect, records } = objectCall
  const target = upstreamOf(objectCall, upstream)
  if (target === undefined) return undefined
  try {
    const { value } = await requestJson(call, target, { method: 'GET', path: pathOf(dialect, target, id) })
    return withClientModel(dialect, value, fields?.model)
  } catch (error) {
    if (!isMissing(error, dialect)) throw error
    if (isNotFound(error)) await records.objects.delete(kind, [id])
    else hiding.set(upstream, target)
    return undefined
  }
}

/** Reads, changes or deletes one object. */
async function use(objectCall: ObjectCall, request: RequestBody): Promise<Reply> {
  const { call, kind, dialect, records } = objectCall
  const { route, params } = call
  const { id = '', item } = params
  const { target, own } = await findTarget(objectCall, id)
  if (item !== undefined && !safeSegment.test(item)) throw notFound(kind, item)
  const below = route.path.slice(route.path.indexOf('{id}') + 4)
  const path = `${target.path}/${encodeURIComponent(id)}${below.replace('{item}', () => encodeURIComponent(item ?? ''))}`
  const sent: ObjectRequest = {
    method: route.method,
    path,
    query: passedQuery(objectCall),
    ...(request === noBody ? {} : jsonBody(request)),
  }
  if (route.operation === 'get-object-content') return relayContent(call, target, sent)
  try {
    const { value, body } = await requestJson(call, target, sent)
    if (route.operation === 'delete-object') await records.objects.delete(kind, [recordId(dialect, id)])
    if (route.operation === 'update-object' && own !== undefined && dialect.endMember !== undefined)
      await records.objects.save(kind, { ...own, fields: { ...own.fields, ...fieldsOf(dialect, value) } })
    return objectReply(call, withClientModelIn(dialect, body, own?.fields?.model))
  } catch (error) {
    // The upstream no longer has it: it expired, or was deleted elsewhere.
    const isGone = item === undefined && isMissing(error, dialect)
    // A 403 may also mean that the upstream rejects the gateway's key: then the object still exists, and its owner must not lose it.
    if (isGone && records.isEnabled && isNotFound(error)) await records.objects.delete(kind, [recordId(dialect, id)])
    if (!isGone || isNotFound(error)) throw error
    await checkAccess(objectCall, target)
    throw notFound(kind, id)
  }
}

/**
 * Throws the error of an upstream that rejects the gateway's credential. Needed where a missing object has the same error: otherwise every
 * object would seem to be missing.
 */
async function checkAccess({ call, dialect }: ObjectCall, target: ObjectUpstream): Promise<void> {
  const query = dialect.hidesMissing?.accessQuery
  if (query !== undefined) await requestJson(call, target, { method: 'GET', path: target.path, query })
}

const safeSegment = /^[\w-]{1,256}$/

const isNotFound = (error: unknown): boolean => error instanceof GatewayError && error.info.kind === 'not_found'

/** Returns whether an error of an upstream means that it does not have the object, as far as its API tells. */
const isMissing = (error: unknown, { hidesMissing }: ObjectDialect): boolean =>
  isNotFound(error) || (hidesMissing !== undefined && error instanceof GatewayError && error.hints?.status === 403)

const isExpired = ({ lifetimeMs, endMember }: ObjectDialect, { createdAt, fields }: StoredObject): boolean => {
  if (lifetimeMs !== undefined) return createdAt + lifetimeMs < Date.now()
  const end = endMember === undefined ? Number.NaN : Date.parse(fields?.[endMember] ?? '')
  return end + clockDifferenceMs < Date.now()
}

/** Largest difference between the clocks of a provider and the gateway. */
const clockDifferenceMs = 10 * 60 * 1000

const recordId = ({ prefix = '' }: ObjectDialect, id: string): string => prefix + id

/** Returns whether a record is of this dialect: a kind may have records of several APIs. */
const hasPrefix = ({ prefix }: ObjectDialect, id: string): boolean =>
  prefix === undefined ? !id.includes('/') : id.startsWith(prefix)

/** The upstream of an object, and its record if it is the caller's own. */
interface FoundObject {
  readonly target: ObjectUpstream
  readonly own?: StoredObject
}

/** Returns an object that the caller may use. Throws GatewayError `not_found` for any other id. */
async function findTarget(objectCall: ObjectCall, id: string): Promise<FoundObject> {
  const { call, kind, dialect, records } = objectCall
  if (!safeSegment.test(id)) throw notFound(kind, id)
  const name = recordId(dialect, id)
  const own = await records.objects.find(kind, name)
  if (own !== undefined) {
    const target = upstreamOf(objectCall, own.upstream)
    if (target === undefined || isExpired(dialect, own)) throw notFound(kind, id)
    return { target, own }
  }
  const { references } = call.shared
  // Listed ids are for every caller, so none of them may change or delete the object.
  const isListed = acceptsReference(references, kind, name) && call.route.method === 'GET'
  if (references[kind] !== 'pass' && !isListed) throw notFound(kind, id)
  return { target: defaultUpstream(objectCall) }
}

const nouns: Readonly<Record<ObjectKind, string>> = {
  files: 'file',
  conversations: 'conversation',
  caches: 'cached content',
}

const notFound = (kind: ObjectKind, id: string): GatewayError =>
  new GatewayError('not_found', `No ${nouns[kind]} with id '${id.slice(0, 100)}' found.`)

const withoutOwner = (kind: ObjectKind): GatewayError =>
  new GatewayError(
    'invalid_request',
    `This gateway stores no owners of ${kind} for this caller, so no caller could use a new ${nouns[kind]}. Its operator can set 'responses.store', or set 'references.${kind}' to 'pass' if all callers trust each other.`,
  )

/** Returns an upstream by its name; undefined if the configuration no longer has it, or its API lacks this kind of object. */
function upstreamOf({ call, kind }: ObjectCall, name: string): ObjectUpstream | undefined {
  const { upstreams } = call.snapshot.config
  const upstream = Object.hasOwn(upstreams, name) ? upstreams[name] : undefined
  const path = isSharedCodec(call.codec) ? upstream?.objects?.[kind]?.[call.codec.format] : undefined
  return upstream === undefined || path === undefined ? undefined : { name, upstream, path }
}

/** Returns the upstream for new objects. Throws GatewayError `invalid_request` if there is none, or the choice is not configured. */
function defaultUpstream(objectCall: ObjectCall): ObjectUpstream {
  const { kind, call } = objectCall
  const { upstreams, objects = {} } = call.snapshot.config
  const able = (objects.upstreams ?? Object.keys(upstreams)).flatMap((name) => upstreamOf(objectCall, name) ?? [])
  const [first] = able
  if (first === undefined)
    throw new GatewayError('invalid_request', `No upstream of this gateway stores ${kind} for this API.`)
  if (objects.upstreams === undefined && able.length > 1)
    throw new GatewayError(
      'invalid_request',
      `Several upstreams of this gateway store ${kind} for this API. Its operator has to name one in 'objects.upstreams'.`,
    )
  return first
}

/** Returns the query for the upstream. Credentials and the gateway's own parameters are removed. */
function passedQuery({ call, dialect }: ObjectCall): string {
  const given = [...new URLSearchParams(call.inbound.query)]
  return new URLSearchParams(given.filter(([name]) => dialect.passes?.includes(name) === true)).toString()
}

const listParameters: ReadonlySet<string> = new Set([
  'limit',
  'order',
  'after',
  'after_id',
  'before_id',
  'page',
  'ids',
  'ids[]',
  'purpose',
  'pageSize',
  'pageToken',
])

const sharedQuery = (query: URLSearchParams): string =>
  new URLSearchParams([...query].filter(([name]) => listParameters.has(name))).toString()
