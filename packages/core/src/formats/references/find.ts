import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import {
  type ReferenceKind,
  type ReferencePlace,
  type ReferenceScheme,
  referencePlaces,
  watchedMembers,
} from './places.ts'

/** A reference to stored state that a request makes. */
export interface Reference {
  readonly kind: ReferenceKind
  readonly id: string
  /** Its position: `messages[2].content[0].source.file_id`. */
  readonly at: string
  readonly place: ReferencePlace
}

/** The table's paths as a tree. */
interface Node {
  readonly members: Map<string, Node>
  elements: Node | undefined
  any: Node | undefined
  place: ReferencePlace | undefined
}

const emptyNode = (): Node => ({ members: new Map(), elements: undefined, any: undefined, place: undefined })

function treeOf(places: readonly ReferencePlace[]): Node {
  const root = emptyNode()
  for (const place of places) {
    let node = root
    for (const name of place.path.replaceAll('[]', '.[]').split('.')) {
      if (name === '[]') node = node.elements ??= emptyNode()
      else if (name === '*') node = node.any ??= emptyNode()
      else {
        const next = node.members.get(name) ?? emptyNode()
        node.members.set(name, next)
        node = next
      }
    }
    node.place = place
  }
  return root
}

const trees = new Map<ReferenceScheme, Node>()
function treeFor(scheme: ReferenceScheme): Node {
  const tree = trees.get(scheme) ?? treeOf(referencePlaces[scheme])
  trees.set(scheme, tree)
  return tree
}

/**
 * Finds every reference of a request, in one pass over its text and one over its value.
 *
 * @param text the body, or its outline
 * @throws GatewayError `invalid_request` where a member on the way to a reference is given twice, or in another case: the upstream
 *   might read the unchecked one
 */
export function findReferences(scheme: ReferenceScheme, text: string, value: Json): readonly Reference[] {
  const tree = treeFor(scheme)
  new MemberCheck(text).check(tree)
  const found: Reference[] = []
  collect(value, tree, '', undefined, found)
  return found
}

function collect(
  value: Json | undefined,
  node: Node,
  at: string,
  holder: JsonObject | undefined,
  found: Reference[],
): void {
  const { elements, any, place } = node
  if (typeof value === 'string') {
    if (place !== undefined && value !== '' && (place.isReference?.(value, holder ?? {}) ?? true))
      found.push({ kind: place.kind, id: value, at, place })
    return
  }
  if (place !== undefined && node.members.size === 0 && elements === undefined && isHolder(value)) throw noText(at)
  if (Array.isArray(value)) {
    if (elements === undefined) return
    for (const [index, one] of value.entries()) collect(one, elements, `${at}[${index}]`, holder, found)
    return
  }
  if (!isObject(value)) return
  // Some servers accept one element instead of a list.
  if (elements !== undefined) collect(value, elements, at, holder, found)
  const prefix = at === '' ? '' : `${at}.`
  for (const [name, next] of node.members)
    if (Object.hasOwn(value, name)) collect(value[name], next, prefix + name, value, found)
  if (any !== undefined)
    for (const name of Object.keys(value)) collect(value[name], any, prefix + name.slice(0, 100), value, found)
}

const isHolder = (value: Json | undefined): boolean => typeof value === 'object' && value !== null

/** An id in a list or an object would not be checked, but a tolerant upstream might read it. */
const noText = (at: string): GatewayError =>
  new GatewayError('invalid_request', `${at}: expected a string, the id of one stored object.`, { param: at })

const quote = 34
const backslash = 92
const isOpen = (code: number): boolean => code === 123 || code === 91
const isClose = (code: number): boolean => code === 125 || code === 93

/** Checks member names on the paths to references. It reads the text, because a parsed value hides duplicates. Linear time. */
class MemberCheck {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  check(node: Node): void {
    this.#skipSpace()
    const code = this.#text.charCodeAt(this.#at)
    if (code === 91) this.#list(node)
    else if (code === 123) this.#object(node)
    else this.#skipValue()
  }

  #list(node: Node): void {
    this.#at++
    for (;;) {
      this.#skipSpace()
      if (this.#at >= this.#text.length || this.#text[this.#at] === ']') break
      if (this.#text[this.#at] === ',') this.#at++
      else if (node.elements === undefined) this.#skipValue()
      else this.check(node.elements)
    }
    this.#at++
  }

  #object(node: Node): void {
    const seen = new Set<string>()
    this.#at++
    for (;;) {
      this.#skipSpace()
      if (this.#at >= this.#text.length || this.#text[this.#at] === '}') break
      if (this.#text[this.#at] === ',') {
        this.#at++
        continue
      }
      const key = this.#key()
      const next = this.#nextFor(node, key, seen)
      this.#skipSpace()
      // The colon.
      this.#at++
      if (next === undefined) this.#skipValue()
      else this.check(next)
    }
    this.#at++
  }

  #nextFor(node: Node, key: string, seen: Set<string>): Node | undefined {
    // Some servers accept one element instead of a list.
    const next = node.members.get(key) ?? node.elements?.members.get(key) ?? node.any
    if (next === undefined) {
      checkSpelling(node.members.keys(), key)
      if (node.elements !== undefined) checkSpelling(node.elements.members.keys(), key)
      return undefined
    }
    if (seen.has(key)) throw givenTwice(key)
    seen.add(key)
    return next
  }

  #key(): string {
    const start = this.#at
    this.#skipString()
    const written = this.#text.slice(start, this.#at)
    return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1)
  }

  #skipSpace(): void {
    while (this.#text.charCodeAt(this.#at) <= 32) this.#at++
  }

  #skipString(): void {
    let end = this.#at
    for (;;) {
      end = this.#text.indexOf('"', end + 1)
      if (end < 0) {
        this.#at = this.#text.length
        return
      }
      let slashes = 0
      while (this.#text.charCodeAt(end - 1 - slashes) === backslash && end - 1 - slashes > this.#at) slashes++
      if (slashes % 2 === 0) break
    }
    this.#at = end + 1
  }

  #skipValue(): void {
    let depth = 0
    while (this.#at < this.#text.length) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === quote) this.#skipString()
      else if (isOpen(code)) {
        depth++
        this.#at++
      } else if (isClose(code)) {
        if (depth === 0) return
        depth--
        this.#at++
      } else if (code === 44 && depth === 0) return
      else this.#at++
      if (depth === 0 && (code === quote || isClose(code))) return
    }
  }
}

/** Some servers read members in any case. */
function checkSpelling(names: Iterable<string>, key: string): void {
  for (const name of names)
    if (name.length === key.length && name.toLowerCase() === key.toLowerCase()) throw wrongCase(key, name)
}

const wrongCase = (key: string, name: string): GatewayError =>
  new GatewayError('invalid_request', `${key}: unknown member. Did you mean '${name}'?`, { param: key })

const givenTwice = (name: string): GatewayError =>
  new GatewayError('invalid_request', `${name}: duplicate member. Send it once.`, { param: name })

/**
 * Checks the names of top-level members that can hold references. Needed even if the value holds none: of duplicate members a parsed
 * value keeps only the last.
 *
 * @param keys all top-level names of the body, duplicates included
 * @throws GatewayError as `findReferences` does
 */
export function checkTopLevel(scheme: ReferenceScheme, keys: Iterable<string>): void {
  const names = new Set([...treeFor(scheme).members.keys(), ...(watchedMembers[scheme] ?? [])])
  const seen = new Set<string>()
  for (const key of keys) {
    if (!names.has(key)) checkSpelling(names, key)
    else if (seen.has(key)) throw givenTwice(key)
    else seen.add(key)
  }
}

/** Names of the kinds in error messages, singular. */
const nouns: Readonly<Record<ReferenceKind, string>> = {
  responses: 'stored response',
  conversations: 'conversation',
  prompts: 'prompt template',
  files: 'stored file',
  containers: 'container',
  vectorStores: 'vector store',
  caches: 'cached content',
  batches: 'batch',
  calls: 'call',
  skills: 'skill',
  voices: 'custom voice',
  guardrails: 'guardrail',
}

/** Error codes that clients know. */
const codes: Partial<Record<ReferenceKind, string>> = { responses: 'previous_response_not_found' }

/** Creates the error for a reference that does not belong to the caller, as far as the gateway knows. */
export const unknownReferenceError = (
  kind: ReferenceKind,
  id: string,
  at: string,
  what = '',
  keeps = true,
  code = codes[kind],
): GatewayError => {
  const found = what === '' ? `${at}: ${nouns[kind]} with id '${id.slice(0, 100)}' not found.` : what
  return new GatewayError(
    'invalid_request',
    `${found} This gateway accepts only references to objects that it knows as the caller's own${
      keeps ? '' : ', and it stores no references of this caller'
    }. Its operator can ${keeps ? '' : "set 'responses.store', or "}set 'references.${kind}' to 'pass', or to a list of ids that every caller may use.`,
    { param: at, ...(code === undefined ? {} : { code }) },
  )
}
