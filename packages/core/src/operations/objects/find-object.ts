import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { acceptsReference } from '../../config/references.ts'
import { isSharedCodec } from '../../formats/codec-registry.ts'
import type { ObjectKind } from '../../upstreams/upstream.ts'
import type { StoredObject } from '../responses/object-records.ts'
import type { ObjectDialect } from './dialects.ts'
import type { ObjectCall } from './object-call.ts'
import { type ObjectUpstream, requestJson } from './send.ts'

/** Returns the number of the caller's objects. Deletes the records of those that their upstream has deleted after their lifetime. */
export async function countOwn({ kind, dialect, records }: ObjectCall): Promise<number> {
  const all = await records.objects.list(kind)
  const expired = all.filter((object) => hasPrefix(dialect, object.id) && isExpired(dialect, object))
  if (expired.length > 0)
    await records.objects.delete(
      kind,
      expired.map(({ id }) => id),
    )
  return all.length - expired.length
}

/** Returns the members of an object that its record holds. */
export const fieldsOf = ({ filters = [], endMember }: ObjectDialect, value: JsonObject): Record<string, string> =>
  Object.fromEntries(
    [...filters, ...(endMember === undefined ? [] : [endMember])].flatMap((name) => {
      const field = value[name]
      return typeof field === 'string' ? [[name, field]] : []
    }),
  )

/** Returns the path of an object at its upstream. */
export const pathOf = ({ prefix = '' }: ObjectDialect, target: ObjectUpstream, id: string): string =>
  `${target.path}/${encodeURIComponent(id.slice(prefix.length))}`

/**
 * Throws the error of an upstream that rejects the gateway's credential. Needed where a missing object has the same error: otherwise every
 * object would seem to be missing.
 */
export async function checkAccess({ call, dialect }: ObjectCall, target: ObjectUpstream): Promise<void> {
  const query = dialect.hidesMissing?.accessQuery
  if (query !== undefined) await requestJson(call, target, { method: 'GET', path: target.path, query })
}

export const safeSegment = /^[\w-]{1,256}$/

export const isNotFound = (error: unknown): boolean => error instanceof GatewayError && error.info.kind === 'not_found'

/** Returns whether an error of an upstream means that it does not have the object, as far as its API tells. */
export const isMissing = (error: unknown, { hidesMissing }: ObjectDialect): boolean =>
  isNotFound(error) || (hidesMissing !== undefined && error instanceof GatewayError && error.hints?.status === 403)

export const isExpired = ({ lifetimeMs, endMember }: ObjectDialect, { createdAt, fields }: StoredObject): boolean => {
  if (lifetimeMs !== undefined) return createdAt + lifetimeMs < Date.now()
  const end = endMember === undefined ? Number.NaN : Date.parse(fields?.[endMember] ?? '')
  return end + clockDifferenceMs < Date.now()
}

/** Largest difference between the clocks of a provider and the gateway. */
const clockDifferenceMs = 10 * 60 * 1000

export const recordId = ({ prefix = '' }: ObjectDialect, id: string): string => prefix + id

/** Returns whether a record is of this dialect: a kind may have records of several APIs. */
export const hasPrefix = ({ prefix }: ObjectDialect, id: string): boolean =>
  prefix === undefined ? !id.includes('/') : id.startsWith(prefix)

/** The upstream of an object, and its record if it is the caller's own. */
interface FoundObject {
  readonly target: ObjectUpstream
  readonly own?: StoredObject
}

/** Returns an object that the caller may use. Throws GatewayError `not_found` for any other id. */
export async function findTarget(objectCall: ObjectCall, id: string): Promise<FoundObject> {
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
  batches: 'batch',
  calls: 'call',
  skills: 'skill',
}

export const nounOf = (kind: ObjectKind): string => nouns[kind]

export const notFound = (kind: ObjectKind, id: string): GatewayError =>
  new GatewayError('not_found', `No ${nouns[kind]} with id '${id.slice(0, 100)}' found.`)

/** Returns whether the gateway has to store something about each new object, even if all callers share the objects. */
export const needsRecord = ({ isBatch, creates }: ObjectDialect): boolean => isBatch === true || creates === 'resumable'

/** Returns the error for a new object whose owner cannot be stored. */
export function withoutOwner({ kind, dialect }: ObjectCall): GatewayError {
  const orPass = needsRecord(dialect) ? '' : `, or set 'references.${kind}' to 'pass' if all callers trust each other`
  return new GatewayError(
    'invalid_request',
    `This gateway stores no owners of ${kind} for this caller, so no caller could use a new ${nouns[kind]}. Its operator can set 'responses.store'${orPass}.`,
  )
}

/** Returns an upstream by its name; undefined if the configuration no longer has it, or its API lacks this kind of object. */
export function upstreamOf({ call, kind }: ObjectCall, name: string): ObjectUpstream | undefined {
  const { upstreams } = call.snapshot.config
  const upstream = Object.hasOwn(upstreams, name) ? upstreams[name] : undefined
  const path = isSharedCodec(call.codec) ? upstream?.objects?.[kind]?.[call.codec.format] : undefined
  return upstream === undefined || path === undefined ? undefined : { name, upstream, path }
}

/** Returns the upstream for new objects. Throws GatewayError `invalid_request` if there is none, or the choice is not configured. */
export function defaultUpstream(objectCall: ObjectCall): ObjectUpstream {
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
