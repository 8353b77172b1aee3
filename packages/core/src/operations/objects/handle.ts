import { inBatches, stopReason } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { admitCall } from '../../calls/admission.ts'
import { notifyRequest } from '../../calls/plugin-hooks.ts'
import { recordRequest } from '../../calls/try-targets.ts'
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
import { batchDialectOf } from './batches/batch-dialects.ts'
import { batchForClient, checkSettled, claimResults, createBatch, settleBatch } from './batches/handle-batch.ts'
import {
  recordModel,
  recordStoredTokens,
  targetOfModel,
  withClientModel,
  withClientModelIn,
  withTargetModel,
} from './bound-model.ts'
import { attemptCreation } from './creation-attempt.ts'
import { type ObjectDialect, objectDialects, pageOf } from './dialects.ts'
import {
  checkAccess,
  countOwn,
  defaultUpstream,
  fieldsOf,
  findTarget,
  hasPrefix,
  isExpired,
  isMissing,
  isNotFound,
  needsRecord,
  notFound,
  pathOf,
  recordId,
  safeSegment,
  upstreamOf,
  withoutOwner,
} from './find-object.ts'
import { checkLifetime } from './lifetime.ts'
import { type ObjectCall, streamOf } from './object-call.ts'
import { continueUpload, startUpload, uploadIdOf } from './resumable-upload.ts'
import { saveOrUndo } from './save-owner.ts'
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
    route.operation !== 'cancel-object' &&
    !uploadsVersion(dialect, call) &&
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
  // Some requests are not cancelled with their client, so they do not begin without it.
  if (signal.aborted) throw stopReason(signal)
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

/** Returns whether the request uploads a new version of an object. */
const uploadsVersion = ({ creates }: ObjectDialect, { route }: Pick<RoutedCall, 'route'>): boolean =>
  creates === 'upload' && route.operation === 'update-object' && route.method === 'POST'

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

async function create(objectCall: ObjectCall, request: RequestBody, model?: ResolvedTarget): Promise<Reply> {
  const { call, kind, dialect, records, isShared } = objectCall
  if (dialect.creates === 'resumable' && uploadIdOf(call.inbound) !== undefined)
    return continueUpload(objectCall, (name) => upstreamOf(objectCall, name))
  if (!records.isEnabled && (!isShared || needsRecord(dialect))) throw withoutOwner(objectCall)
  const batch = batchDialectOf(objectCall)
  if (batch !== undefined) return createBatch(objectCall, batch, request, passedQuery(objectCall))
  const target = (model && upstreamOf(objectCall, model.upstreamName)) ?? defaultUpstream(objectCall)
  if (records.isEnabled) checkCount(kind, await countOwn(objectCall))
  if (dialect.creates === 'resumable') return startUpload(objectCall, target, request)
  checkName(dialect, request)
  checkLifetime(objectCall, request)
  const sent: ObjectRequest = {
    method: 'POST',
    path: target.path,
    query: passedQuery(objectCall),
    outlivesClient: true,
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
  const send = async () => {
    const response = await requestJson(call, target, sent)
    const id = response.value[dialect.idMember ?? 'id']
    if (typeof id !== 'string' || id === '' || !hasPrefix(dialect, id))
      throw new GatewayError('upstream_bad_response', 'The upstream created an object without an id.')
    return { ...response, id }
  }
  const { id, ...response } =
    model === undefined ? await send() : await attemptCreation(call, [{ record, target: model }], send)
  if (model !== undefined) recordStoredTokens(call, response.value)
  if (records.isEnabled) {
    const fields = { ...fieldsOf(dialect, response.value), ...(model === undefined ? {} : { model: record.model }) }
    const undo = { method: 'DELETE', path: pathOf(dialect, target, id) }
    await saveOrUndo(objectCall, { target, undo }, () =>
      records.objects.save(kind, { id, upstream: target.name, createdAt: Date.now(), fields }),
    )
  }
  return objectReply(call, withClientModelIn(dialect, response, model === undefined ? undefined : record.model))
}

/** Rejects a creation whose client chooses the id: it could choose that of another caller's object. */
function checkName({ idMember = 'id' }: ObjectDialect, { value }: RequestBody): void {
  if (value[idMember] !== undefined && value[idMember] !== null)
    throw new GatewayError('invalid_request', `${idMember}: leave it out. The provider chooses it.`, {
      param: idMember,
    })
}

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
    const batch = batchDialectOf(objectCall)
    if (batch !== undefined) {
      // The caller could read the results from here on.
      const state = await settleBatch(objectCall, batch, target, id, value)
      // The other batches of the list are still shown.
      if (state === 'settled') await claimResults(objectCall, batch, target, value)
    }
    const members = batch?.membersForClient?.(objectCall, value)
    return { ...withClientModel(dialect, value, fields?.model), ...members }
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
  const updates = route.operation === 'update-object'
  if (updates) checkLifetime(objectCall, request)
  const below = route.path.slice(route.path.indexOf('{id}') + 4)
  const path = `${target.path}/${encodeURIComponent(id)}${below.replace('{item}', () => encodeURIComponent(item ?? ''))}`
  const sent: ObjectRequest = {
    method: route.method,
    path,
    query: passedQuery(objectCall),
    outlivesClient: updates,
    ...(uploadsVersion(dialect, call) ? upload(call) : request === noBody ? {} : jsonBody(request)),
  }
  const batch = batchDialectOf(objectCall)
  const settles = batch !== undefined && own !== undefined
  const settle = settles ? () => settleBatch(objectCall, batch, target, id) : undefined
  if (route.operation === 'get-object-content') {
    const state = await settle?.()
    checkSettled(call, state)
    // A batch may end after it was read.
    const check = async (): Promise<void> => checkSettled(call, await settle?.())
    return relayContent(call, target, sent, state === 'running' ? check : undefined)
  }
  if (route.operation === 'delete-object') checkSettled(call, await settle?.())
  try {
    const response = await requestJson(call, target, sent)
    const { value } = response
    if (settles && route.operation !== 'delete-object') {
      const state = await settleBatch(objectCall, batch, target, id, value)
      if ((batch.resultFiles?.(value).length ?? 0) > 0) checkSettled(call, state)
      if (state === 'settled') await claimResults(objectCall, batch, target, value)
      return objectReply(call, batchForClient(objectCall, batch, response))
    }
    if (route.operation === 'delete-object') await records.objects.delete(kind, [recordId(dialect, id)])
    if (updates && own !== undefined && dialect.endMember !== undefined) {
      const fields = { ...own.fields, ...fieldsOf(dialect, value) }
      await records.objects.save(kind, { ...own, renewedAt: Date.now(), fields })
    }
    return objectReply(call, withClientModelIn(dialect, response, own?.fields?.model))
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
