import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { toText } from './json-fields.ts'

/** Steps that every schema may take. */
const freeSteps = 10_000
/** Additional steps for each value of the schema. Translation takes about ten. */
const stepsPerValue = 16

/**
 * A JSON Schema as a graph of its `$ref`s. References can repeat, nest and form cycles, so that a walk without memory takes exponential
 * time. Results are kept by node, no walk recurses along references, and all walks share a step budget in proportion to the schema's size.
 * Nodes must not change.
 *
 * @throws GatewayError `invalid_request` from every method, once the budget is spent
 */
export class SchemaGraph {
  readonly root: JsonObject
  /** Steps so far. */
  steps = 0
  readonly #at: string
  #budget = freeSteps
  #isMeasured = false
  // Created on first use: most schemas have neither references nor alternatives.
  #resolved: Map<string, JsonObject | undefined> | undefined
  #targets: Map<JsonObject, JsonObject | undefined> | undefined
  #admitsNull: Map<JsonObject, boolean> | undefined
  #kinds: Map<JsonObject, readonly string[] | undefined> | undefined
  #values: Map<JsonObject, readonly string[] | undefined> | undefined
  #disjoint: Map<string, boolean> | undefined
  #numbers: Map<JsonObject, number> | undefined
  #required: Map<JsonObject, ReadonlySet<Json>> | undefined

  /** @param at JSON Pointer to the schema in the client's request, for the error */
  constructor(root: JsonObject, at = '') {
    this.root = root
    this.#at = at
  }

  /** Charges steps to the budget. */
  spend(steps: number): void {
    this.steps += steps
    if (this.steps <= this.#budget) return
    if (!this.#isMeasured) {
      this.#isMeasured = true
      this.#budget += stepsPerValue * countValues(this.root)
      if (this.steps <= this.#budget) return
    }
    throw tooComplex(this.#at, this.#budget)
  }

  /** Resolves a `$ref`; undefined for an external or dangling reference. */
  resolve(reference: string): JsonObject | undefined {
    this.#resolved ??= new Map()
    return known(this.#resolved, reference, () => {
      this.spend(1)
      return resolve(reference, this.root)
    })
  }

  /** Returns whether the schema is recursive. */
  isRecursive(): boolean {
    const open = new Set([this.root])
    const done = new Set<JsonObject>()
    const path = [{ node: this.root, next: this.#successors(this.root), at: 0 }]
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const node = last.next[last.at++]
      if (node === undefined) {
        open.delete(last.node)
        done.add(last.node)
        path.pop()
      } else if (open.has(node)) return true
      else if (!done.has(node)) {
        open.add(node)
        path.push({ node, next: this.#successors(node), at: 0 })
      }
    }
    return false
  }

  /** Returns whether null is a valid value. */
  admitsNull(schema: Json): boolean {
    const node = this.#target(schema)
    if (node === undefined) return false
    const answer = this.#admitsNull?.get(node)
    if (answer !== undefined) return answer
    const own = this.#ownAnswer(node)
    if (typeof own !== 'boolean') return this.#settleNull(node, own)
    // Only targets of references are looked up again.
    if (node !== schema) {
      this.#admitsNull ??= new Map()
      this.#admitsNull.set(node, own)
    }
    return own
  }

  /** Returns whether no value fits two of the schemas, so that `oneOf` equals `anyOf`. */
  areDisjoint(schemas: readonly Json[]): boolean {
    this.spend(schemas.length)
    const nodes: JsonObject[] = []
    for (const schema of schemas) {
      const node = this.#target(schema)
      if (node === undefined) return false
      nodes.push(node)
    }
    // The same schema twice accepts the same values twice.
    if (new Set(nodes).size < nodes.length) return false
    this.#disjoint ??= new Map()
    const key = nodes.map((node) => this.#numberOf(node)).join()
    let answer = this.#disjoint.get(key)
    if (answer === undefined) {
      answer = this.#compare(nodes)
      this.#disjoint.set(key, answer)
    }
    return answer
  }

  #compare(nodes: readonly JsonObject[]): boolean {
    if (this.#areApart(nodes, (node) => this.#kindsOf(node))) return true
    if (this.#areApart(nodes, (node) => this.#valuesOf(node))) return true
    const [first] = nodes
    if (first === undefined) return false
    for (const name of this.#requiredOf(first))
      if (typeof name === 'string' && this.#areApart(nodes, (node) => this.#valuesOfProperty(node, name))) return true
    return false
  }

  #numberOf(node: JsonObject): number {
    this.#numbers ??= new Map()
    const number = this.#numbers.get(node) ?? this.#numbers.size
    this.#numbers.set(node, number)
    return number
  }

  #successors(node: JsonObject): JsonObject[] {
    const next = innerSchemas(node)
    this.spend(1 + Object.keys(node).length + next.length)
    const target = typeof node.$ref === 'string' ? this.resolve(node.$ref) : undefined
    if (target !== undefined) next.push(target)
    return next
  }

  /** Follows pure references; undefined if they only refer to each other. */
  #target(schema: Json): JsonObject | undefined {
    let node = isObject(schema) ? schema : undefined
    if (node === undefined || node.$ref === undefined) return node
    const passed = new Set<JsonObject>()
    this.#targets ??= new Map()
    while (node !== undefined && typeof node.$ref === 'string' && !passed.has(node)) {
      this.spend(1)
      if (this.#targets.has(node)) {
        node = this.#targets.get(node)
        break
      }
      passed.add(node)
      node = this.resolve(node.$ref)
    }
    const found = node !== undefined && passed.has(node) ? undefined : node
    for (const reference of passed) this.#targets.set(reference, found)
    return found
  }

  /**
   * Computes `admitsNull` for a node and its dependencies. A node admits null if one of its alternatives does: the result spreads from nodes
   * that admit it themselves, against the direction of the references. All other nodes, cycles included, do not admit null.
   */
  #settleNull(start: JsonObject, choices: readonly Json[]): boolean {
    this.#admitsNull ??= new Map()
    const answers = this.#admitsNull
    const dependents = new Map<JsonObject, JsonObject[]>([[start, []]])
    const admitting: JsonObject[] = []
    for (const node of dependents.keys()) {
      const own = node === start ? choices : this.#ownAnswer(node)
      if (own === true) admitting.push(node)
      if (typeof own === 'boolean') continue
      for (const choice of own) {
        this.spend(1)
        const target = this.#target(choice)
        if (target === undefined) continue
        const answer = answers.get(target)
        if (answer === true) admitting.push(node)
        if (answer !== undefined) continue
        const waiting = dependents.get(target)
        if (waiting === undefined) dependents.set(target, [node])
        else waiting.push(node)
      }
    }
    for (const node of dependents.keys()) answers.set(node, false)
    // The list grows while it is read.
    for (const node of admitting) {
      if (answers.get(node) === true) continue
      answers.set(node, true)
      for (const dependent of dependents.get(node) ?? []) admitting.push(dependent)
    }
    return answers.get(start) === true
  }

  /** Returns whether the node itself admits null, or its alternatives if they decide. */
  #ownAnswer(node: JsonObject): boolean | readonly Json[] {
    const types = typesOf(node)
    const values = listedValues(node)
    this.spend(1 + (types?.length ?? 0) + (values?.length ?? 0))
    if (types !== undefined && !types.includes('null')) return false
    if (values !== undefined && !values.includes(null)) return false
    const choices = node.anyOf ?? node.oneOf
    return Array.isArray(choices) ? choices : types !== undefined || values !== undefined
  }

  /** Returns whether the sets are disjoint. An unknown set may contain anything. */
  #areApart(nodes: readonly JsonObject[], setOf: (node: JsonObject) => readonly string[] | undefined): boolean {
    const seen = new Set<string>()
    for (const node of nodes) {
      this.spend(1)
      const set = setOf(node)
      if (set === undefined) return false
      this.spend(set.length)
      for (const item of set) if (seen.has(item)) return false
      for (const item of set) seen.add(item)
    }
    return true
  }

  /** Returns the types of a schema. Integers are numbers, too. */
  #kindsOf(node: JsonObject): readonly string[] | undefined {
    this.#kinds ??= new Map()
    return known(this.#kinds, node, () =>
      typesOf(node)?.flatMap((type) => (type === 'number' ? ['number', 'integer'] : [toText(type)])),
    )
  }

  /** Returns the listed values of a schema, as JSON. */
  #valuesOf(node: JsonObject): readonly string[] | undefined {
    this.#values ??= new Map()
    return known(this.#values, node, () => listedValues(node)?.map((value) => stringifyExact(value)))
  }

  #valuesOfProperty(node: JsonObject, name: string): readonly string[] | undefined {
    const { properties } = node
    if (!this.#requiredOf(node).has(name) || !isObject(properties) || !Object.hasOwn(properties, name)) return undefined
    const property = this.#target(properties[name] ?? null)
    return property === undefined ? undefined : this.#valuesOf(property)
  }

  #requiredOf(node: JsonObject): ReadonlySet<Json> {
    this.#required ??= new Map()
    let names = this.#required.get(node)
    if (names === undefined) {
      names = new Set(Array.isArray(node.required) ? node.required : [])
      this.spend(names.size)
      this.#required.set(node, names)
    }
    return names
  }
}

/** Returns the values of `const` or `enum`. */
const listedValues = ({ const: only, enum: list }: JsonObject): readonly Json[] | undefined =>
  only !== undefined ? [only] : Array.isArray(list) ? list : undefined

/** Returns the memoized result for a key. */
function known<K, V>(answers: Map<K, V | undefined>, key: K, compute: () => V | undefined): V | undefined {
  let answer = answers.get(key)
  if (answer === undefined && !answers.has(key)) {
    answer = compute()
    answers.set(key, answer)
  }
  return answer
}

function resolve(reference: string, root: JsonObject): JsonObject | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let node: Json | undefined = root
  for (const step of reference.slice(2).split('/')) {
    const key = decodeStep(step)
    if (isObject(node) && Object.hasOwn(node, key)) node = node[key]
    else if (Array.isArray(node)) node = node[Number(key)]
    else return undefined
  }
  return isObject(node) ? node : undefined
}

function decodeStep(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

/** Counts the values of a document. */
function countValues(root: Json): number {
  let count = 0
  const left: Json[] = [root]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    count++
    if (typeof value !== 'object' || value === null) continue
    for (const inner of Object.values(value)) left.push(inner)
  }
  return count
}

function tooComplex(at: string, budget: number): GatewayError {
  const param = at.slice(1).replaceAll('/', '.')
  return new GatewayError(
    'invalid_request',
    `${param === '' ? '' : `${param}: `}the JSON Schema is too complex to be translated: its references take more than ${budget} steps to follow. Refer to fewer schemas from each \`oneOf\`, or use a model whose provider accepts the schema in this format.`,
    { ...(param === '' ? {} : { param }), code: 'schema_too_complex' },
  )
}

/** JSON Schema, as far as its structure goes; see schema-lowering.ts for what becomes of it. */

/** Keywords with inner schemas: one, a list, or a map by name. */
export const nested: Readonly<Record<string, 'one' | 'list' | 'map'>> = {
  items: 'one',
  additionalProperties: 'one',
  not: 'one',
  contains: 'one',
  propertyNames: 'one',
  if: 'one',
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: 'one',
  else: 'one',
  anyOf: 'list',
  oneOf: 'list',
  allOf: 'list',
  prefixItems: 'list',
  properties: 'map',
  patternProperties: 'map',
  $defs: 'map',
  definitions: 'map',
}

/** Applies a change to each schema in a keyword's value. Returns the same value if nothing changed. */
export function mapInner(key: string, value: Json, change: (schema: JsonObject) => JsonObject): Json {
  const kind = Object.hasOwn(nested, key) ? nested[key] : undefined
  if (kind === undefined) return value
  if (kind === 'one') return isObject(value) ? change(value) : value
  if (kind === 'list')
    return Array.isArray(value) ? sameOr(value, (item) => (isObject(item) ? change(item) : item)) : value
  if (!isObject(value)) return value
  let out: JsonObject | undefined
  for (const name of Object.keys(value)) {
    const item = value[name] ?? null
    const changed = isObject(item) ? change(item) : item
    if (changed === item) continue
    out ??= { ...value }
    out[name] = changed
  }
  return out ?? value
}

/** Maps a list. Returns the same list if nothing changed. */
export function sameOr(list: Json[], change: (value: Json) => Json): Json[] {
  const changed = list.map(change)
  return changed.some((value, index) => value !== list[index]) ? changed : list
}

/** Returns the direct inner schemas, without those in definitions. */
function innerSchemas(schema: JsonObject): JsonObject[] {
  const found: JsonObject[] = []
  for (const key of Object.keys(schema)) {
    if (key === '$defs' || key === 'definitions') continue
    mapInner(key, schema[key] ?? null, (inner) => {
      found.push(inner)
      return inner
    })
  }
  return found
}

export const typesOf = ({ type }: JsonObject): readonly Json[] | undefined =>
  type === undefined ? undefined : Array.isArray(type) ? type : [type]

export const describesObject = (schema: JsonObject): boolean =>
  typesOf(schema)?.includes('object') ?? schema.properties !== undefined
