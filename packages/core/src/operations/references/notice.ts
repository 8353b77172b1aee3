import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { type ReferenceScheme, referencePlaces } from '../../formats/references/places.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Route } from '../route.ts'

// Every request is looked at here, so that only those that may hold a reference are read again (find.ts). Measured on 30 kB of text:
// two searches for an underscore or a capital letter take 0.4 µs, one regular expression of all names takes 31 µs.

/** What a body shows if it holds a reference. */
interface Signs {
  /** Top-level members. */
  readonly members: readonly string[]
  /** Members of the elements of a top-level list. */
  readonly inLists: readonly (readonly [list: string, member: string])[]
  /** Ends of members' names, by which they are searched for in the text, and what stands in front of these. */
  readonly names: readonly (readonly [end: string, heads: readonly string[]])[]
}

/** Names that stand at any depth are searched for by an end that begins with a rare character. */
const searchable = /^(.+?)(_id|Uri|_uri)s?$/

function signsOf(scheme: ReferenceScheme): Signs {
  const members = new Set<string>()
  const inLists = new Map<string, readonly [string, string]>()
  const names = new Map<string, string[]>()
  for (const { path } of referencePlaces[scheme]) {
    const [first = '', second = '', ...others] = path.split('.')
    const leaf = (others.at(-1) ?? (second || first)).replace('[]', '')
    const [, head, end] = second === '' ? [] : (searchable.exec(leaf) ?? [])
    if (head !== undefined && end !== undefined) names.set(end, [...new Set([...(names.get(end) ?? []), head])])
    else if (first.endsWith('[]')) inLists.set(`${first}.${second}`, [first.slice(0, -2), second.replace('[]', '')])
    // The holder's name, since the outer member is in every body.
    else if (others.length > 0) names.set(`${second}"`, ['"'])
    else members.add(first)
  }
  return { members: [...members], inLists: [...inLists.values()], names: [...names] }
}

const signs = Object.fromEntries(
  Object.keys(referencePlaces).map((scheme) => [scheme, signsOf(scheme as ReferenceScheme)]),
) as Readonly<Record<ReferenceScheme, Signs>>

/** In which of the table's schemes a route's bodies are written; undefined for those that cannot hold references. */
export function referenceSchemeOf({
  operation,
  format,
}: Pick<Route, 'operation' | 'format'>): ReferenceScheme | undefined {
  if (operation === 'generate' || operation === 'count-tokens') return format
  return Object.hasOwn(referencePlaces, operation) ? (operation as ReferenceScheme) : undefined
}

/** Whether a request may refer to stored state. A large body that was read in outline holds no reference. */
export const mayReferToStoredObjects = (scheme: ReferenceScheme, request: RequestBody): boolean =>
  request.outline === undefined && hasSignsOfReferences(scheme, request.text, request.value)

/** The same for the text of a body, or of its outline, and its value. */
export function hasSignsOfReferences(scheme: ReferenceScheme, text: string, value: JsonObject): boolean {
  const { members, inLists, names } = signs[scheme]
  for (const key in value) if (isOneOf(members, key)) return true
  for (const [list, member] of inLists) if (hasMember(value[list], member)) return true
  for (const [end, heads] of names)
    for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, at + end.length))
      for (const head of heads) if (text.startsWith(head, at - head.length)) return true
  // A name may be written in escapes.
  return text.includes('\\u00') && escapedLetter.test(text)
}

const escapedLetter = /\\u00[4-7]/

/** In any case: an upstream may read the other spelling, and find.ts refuses it. */
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
  route: Pick<Route, 'operation' | 'format'>,
  request: RequestBody,
): ReferenceScheme | undefined {
  const scheme = referenceSchemeOf(route)
  return scheme !== undefined && mayReferToStoredObjects(scheme, request) ? scheme : undefined
}
