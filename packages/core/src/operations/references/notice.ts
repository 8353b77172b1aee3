import { isObject, type JsonObject } from '../../base/json/json.ts'
import { type ReferenceScheme, referencePlaces } from '../../formats/references/places.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Route } from '../route.ts'

// Searches each request for signs of references to stored objects. Only requests with a sign are searched exactly (find.ts). Measured with
// 30 kB of text: two searches for an underscore or a capital letter take 0.4 µs, and one regular expression with all names takes 31 µs.

/** Signs of references in a body of one scheme. */
interface Signs {
  /** Top-level members. */
  readonly members: readonly string[]
  /** Members of the elements of a top-level list. */
  readonly inLists: readonly (readonly [list: string, member: string])[]
  /** Ends of member names to search for in the text, each with the possible beginnings of the name. */
  readonly names: readonly (readonly [end: string, beginnings: readonly string[]])[]
}

/** Names at any depth are found by an ending with a rare first character. */
const searchable = /^(.+?)(_id|Uri|_uri)s?$/

function signsOf(scheme: ReferenceScheme): Signs {
  const members = new Set<string>()
  const inLists = new Map<string, readonly [string, string]>()
  const names = new Map<string, string[]>()
  for (const { path } of referencePlaces[scheme]) {
    const [first = '', second = '', ...others] = path.split('.')
    const leaf = (others.at(-1) ?? (second || first)).replace('[]', '')
    const [, beginning, end] = second === '' ? [] : (searchable.exec(leaf) ?? [])
    if (beginning !== undefined && end !== undefined)
      names.set(end, [...new Set([...(names.get(end) ?? []), beginning])])
    // Deep places of other leaves are found by the object around the leaf.
    else if (others.length > 2) names.set(`${(others.at(-2) ?? '').replace('[]', '')}"`, ['"'])
    else if (first.endsWith('[]')) inLists.set(`${first}.${second}`, [first.slice(0, -2), second.replace('[]', '')])
    // Uses the name of the inner member, because every body has the outer one.
    else if (others.length > 0) names.set(`${second}"`, ['"'])
    else members.add(first)
  }
  return { members: [...members], inLists: [...inLists.values()], names: [...names] }
}

const signs = Object.fromEntries(
  Object.keys(referencePlaces).map((scheme) => [scheme, signsOf(scheme as ReferenceScheme)]),
) as Readonly<Record<ReferenceScheme, Signs>>

const isScheme = (name: string): name is ReferenceScheme => Object.hasOwn(referencePlaces, name)

/** Operations with the bodies of their route's format. */
const usesFormat: ReadonlySet<string> = new Set(['generate', 'count-tokens', 'compact'])

/** Returns the scheme of references in a route's bodies, or undefined if they cannot contain references. */
export function referenceSchemeOf({
  operation,
  format,
  object,
}: Pick<Route, 'operation' | 'format' | 'object'>): ReferenceScheme | undefined {
  const scheme = object ?? (usesFormat.has(operation) ? format : operation)
  return isScheme(scheme) ? scheme : undefined
}

/** Returns the scheme of a route whose requests refer to stored responses. Throws TypeError for another route. */
export function storedScheme(route: Route): ReferenceScheme {
  const scheme = referenceSchemeOf(route)
  if (scheme === undefined) throw new TypeError(`Requests of ${route.path} have no references to stored responses`)
  return scheme
}

/**
 * Returns whether a request may refer to stored objects. A large body that is held as an outline contains no reference: it was checked
 * while it was read.
 */
export const mayReferToStoredObjects = (scheme: ReferenceScheme, request: RequestBody): boolean =>
  request.outline === undefined && hasSignsOfReferences(scheme, request.text, request.value)

/** The same for the text of a body, or of its outline, and its value. */
export function hasSignsOfReferences(scheme: ReferenceScheme, text: string, value: JsonObject): boolean {
  const { members, inLists, names } = signs[scheme]
  for (const key in value) if (isOneOf(members, key)) return true
  for (const [list, member] of inLists) if (hasMember(value[list], member)) return true
  for (const [end, beginnings] of names)
    for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, at + end.length))
      for (const beginning of beginnings) if (text.startsWith(beginning, at - beginning.length)) return true
  // Member names may be escaped.
  return text.includes('\\u00') && escapedLetter.test(text)
}

const escapedLetter = /\\u00[4-7]/

/** Compares names without case. An upstream may accept the other spelling, which find.ts rejects. */
function isOneOf(names: readonly string[], key: string): boolean {
  for (const name of names)
    if (key.length === name.length && (key === name || key.toLowerCase() === name.toLowerCase())) return true
  return false
}

function hasMember(list: unknown, member: string): boolean {
  if (!Array.isArray(list)) return isObject(list) && list[member] !== undefined
  for (const element of list) if (isObject(element) && element[member] !== undefined) return true
  return false
}

/** Returns the scheme in which a request seems to refer to stored state; undefined if it does not. */
export function noticedScheme(
  route: Pick<Route, 'operation' | 'format' | 'object'>,
  request: RequestBody,
): ReferenceScheme | undefined {
  const scheme = referenceSchemeOf(route)
  return scheme !== undefined && mayReferToStoredObjects(scheme, request) ? scheme : undefined
}
