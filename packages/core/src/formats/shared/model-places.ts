import { GatewayError } from '../../base/errors.ts'
import { codeAt, foldName, hintOf, isSpace, type JsonSource, type Member, sourceText } from '../../base/json/json.ts'
/**
 * The members of a format's requests that name or select a model. Paths are written as in JavaScript (`tools[].model`). A member that is
 * declared as a list is also checked if a client sends a single value.
 *
 * Each format or operation has one list with every member that any upstream of the format reads, extensions of providers included.
 */
export interface ModelPlaceList {
  /** Members that hold a model's name, a list of names, or objects with a `model`. */
  readonly names: readonly string[]
  /** Members that select a model without naming it, each with the values that select none. */
  readonly chooses?: { readonly [path: string]: readonly string[] }
  /** Parts of a request that have the members of another part; `''` is the whole request. */
  readonly sameMembers?: { readonly [path: string]: string }
  /** Members may also be written in snake case, and names after a collection (`models/x`): JSON of protocol buffers. */
  readonly protobuf?: boolean
}

/** The role of one member and of its members. */
export interface PlaceNode {
  /** The accepted spellings of the member. */
  readonly spellings: readonly string[]
  readonly members: Map<string, PlaceNode>
  role: 'name' | 'choice' | undefined
  /** Values of a `choice` that select no model. */
  harmless: readonly string[]
}

/** A compiled list of places. */
export interface ModelPlaces {
  readonly list: ModelPlaceList
  /** The top-level members that name or choose a model, by their folded names. */
  readonly topLevel: ReadonlyMap<string, string>
  /** `hintOf` those names: nearly all other members of requests have another one. */
  readonly hints: ReadonlySet<number>
  /** Built by the first call that needs it. */
  readonly root: PlaceNode
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Returns the members on the path to a place, outermost first. */
const membersOf = (path: string): readonly string[] =>
  path === '' ? [] : path.split('.').map((member) => member.replaceAll('[]', ''))

/** Compiles a list of places. */
export function modelPlaces(list: ModelPlaceList): ModelPlaces {
  const paths = [...list.names, ...Object.keys(list.chooses ?? {})]
  const topLevel = new Map(
    paths
      .map(membersOf)
      .flatMap(([name = '', ...rest]) => (rest.length === 0 ? [[foldName(name), name] as const] : [])),
  )
  let root: PlaceNode | undefined
  return {
    list,
    topLevel,
    hints: new Set([...topLevel.values()].map(hintOf)),
    get root() {
      root ??= compile(list)
      return root
    },
  }
}

function compile({ names, chooses = {}, sameMembers: alike = {}, protobuf = false }: ModelPlaceList): PlaceNode {
  const nodeOf = (name: string): PlaceNode => ({
    spellings: protobuf ? [name, snakeCase(name)] : [name],
    members: new Map(),
    role: undefined,
    harmless: [],
  })
  const root = nodeOf('')
  const at = (path: readonly string[]): PlaceNode => {
    let node = root
    for (const name of path) {
      const folded = foldName(name)
      const next = node.members.get(folded) ?? nodeOf(name)
      node.members.set(folded, next)
      node = next
    }
    return node
  }
  for (const path of names) at(membersOf(path)).role = 'name'
  for (const [path, harmless] of Object.entries(chooses))
    Object.assign(at(membersOf(path)), { role: 'choice', harmless })
  // Last: a part shares the members of the other one, those of parts within it included.
  for (const [path, other] of Object.entries(alike)) {
    const members = membersOf(path)
    const name = members.at(-1) ?? ''
    at(members.slice(0, -1)).members.set(foldName(name), { ...nodeOf(name), members: at(membersOf(other)).members })
  }
  return root
}

/**
 * Members that routers in front of several providers read in any format: OpenRouter (`models`, `fallbacks`, `preset`, `route`, `plugins`),
 * LiteLLM (`fallbacks` and its kinds, `deployment_id`, `extra_body`), and the older `engine`.
 */
export const routerPlaces = {
  names: [
    'model',
    'models',
    'fallbacks',
    'context_window_fallbacks',
    'content_policy_fallbacks',
    'draft_model',
    'engine',
    'deployment_id',
    'plugins[].model',
    'plugins[].models',
    'plugins[].allowed_models',
    'plugins[].analysis_models',
  ],
  chooses: {
    preset: [],
    route: [],
    // LiteLLM: a configuration of the caller's own.
    user_config: [],
    litellm_params: [],
    model_list: [],
    'plugins[].id': ['web', 'web-fetch', 'file-parser', 'response-healing', 'context-compression', 'moderation'],
  },
  sameMembers: { extra_body: '' },
} as const satisfies ModelPlaceList

/** Tools that call a model: image generation, advisors, subagents, ensembles. */
export const toolPlaces = {
  names: [
    'tools[].model',
    'tools[].models',
    'tools[].svg.model',
    'tools[].parameters.model',
    'tools[].parameters.models',
    'tools[].parameters.allowed_models',
    'tools[].parameters.analysis_models',
  ],
  sameMembers: { 'tools[].tools': 'tools', 'tools[].parameters.tools': 'tools' },
} as const satisfies ModelPlaceList

/** The position of a JSON value in the visited text. */
export interface PlaceSpan {
  readonly start: number
  readonly end: number
}

/** Callbacks for each place that a request uses. They throw a GatewayError to reject the request. */
export interface PlaceVisitor {
  /**
   * A member that holds a model's name.
   *
   * @param span position of the name; undefined for a form's field
   */
  name(name: string, path: string, span?: PlaceSpan): void
  /** A member that selects a model without naming it. */
  choice(path: string): void
}

/** Lists within lists, and parts within parts like them: no client nests them deeper, and each level takes a stack frame. */
const maxLevels = 64

const quote = 34
const backslash = 92
const openBrace = 123
const closeBrace = 125
const openBracket = 91
const closeBracket = 93
const comma = 44

/**
 * Visits the declared places of a JSON object in one pass. Enters only members on the path to a place, and reads the text instead of a
 * parsed value: the value hides duplicate members and members in another case, which some upstreams read.
 *
 * @param source valid JSON
 * @param members the members of its top-level object
 * @throws GatewayError `invalid_request` for a duplicate or another spelling of a member on the path to a place
 */
export function visitPlaces(
  source: JsonSource,
  members: readonly Member[],
  root: PlaceNode,
  visitor: PlaceVisitor,
): void {
  const walk = new Walk(source, visitor)
  const seen = new Set<string>()
  for (const { key, start } of members) {
    const node = findPlace(root, key, seen, '')
    if (node !== undefined) walk.value(start, node, node.spellings[0] ?? key, 0)
  }
}

/** The same for any JSON value. */
export function visitValue(text: string, root: PlaceNode, visitor: PlaceVisitor): void {
  new Walk(text, visitor).value(text.search(/[^ \t\n\r]/), root, '', 0)
}

/** Returns the declared member of that name. Throws for duplicates and for spellings that only tolerant parsers accept. */
export function findPlace(parent: PlaceNode, key: string, seen: Set<string>, path: string): PlaceNode | undefined {
  const folded = foldName(key)
  const node = parent.members.get(folded)
  if (node === undefined) return undefined
  if (!node.spellings.includes(key)) throw otherSpelling(path + key, path + (node.spellings[0] ?? ''))
  if (seen.has(folded)) throw duplicate(path + key)
  seen.add(folded)
  return node
}

export const duplicate = (path: string): GatewayError =>
  new GatewayError('invalid_request', `Duplicate member '${path}': send it once.`, { param: path })

export const otherSpelling = (path: string, wanted: string): GatewayError =>
  new GatewayError('invalid_request', `Unknown member '${path.slice(0, 200)}': use '${wanted}'.`, {
    param: path.slice(0, 200),
  })

/** Visits a scalar value. */
function visitScalar(
  source: JsonSource,
  span: PlaceSpan,
  { role, harmless }: PlaceNode,
  path: string,
  visitor: PlaceVisitor,
): void {
  if (role === undefined) return
  const text = sourceText(source, span.start, span.end)
  if (text === 'null') return
  const value: unknown = JSON.parse(text)
  if (role === 'name') visitor.name(String(value), path, span)
  else if (typeof value !== 'string' || !harmless.includes(value)) visitor.choice(path)
}

/** The same for the text of a form's field. */
export function visitText(text: string, { role, harmless }: PlaceNode, path: string, visitor: PlaceVisitor): void {
  if (role === 'name') visitor.name(text, path)
  else if (role === 'choice' && !harmless.includes(text)) visitor.choice(path)
}

class Walk {
  readonly #source: JsonSource
  readonly #visitor: PlaceVisitor

  constructor(source: JsonSource, visitor: PlaceVisitor) {
    this.#source = source
    this.#visitor = visitor
  }

  /** Visits the value that begins at `start`; returns the place after it. */
  value(start: number, node: PlaceNode, path: string, level: number): number {
    if (level > maxLevels)
      throw new GatewayError('invalid_request', `'${path.slice(0, 100)}' is nested deeper than ${maxLevels} levels.`)
    const code = codeAt(this.#source, start)
    if (code === openBrace) return this.#object(start, node, path, level)
    if (code === openBracket) return this.#list(start, node, path, level)
    const end = this.#skip(start)
    visitScalar(this.#source, { start, end }, node, path, this.#visitor)
    return end
  }

  #list(start: number, node: PlaceNode, path: string, level: number): number {
    let at = this.#space(start + 1)
    for (let index = 0; codeAt(this.#source, at) !== closeBracket; index++) {
      const code = codeAt(this.#source, at)
      // A name in a list is reported by the list's own path, as clients know it.
      const itemPath = code === openBrace || code === openBracket ? `${path}[${index}]` : path
      at = this.#space(this.value(at, node, itemPath, level + 1))
      if (codeAt(this.#source, at) === comma) at = this.#space(at + 1)
    }
    return at + 1
  }

  #object(start: number, node: PlaceNode, path: string, level: number): number {
    if (node.role === 'choice') this.#visitor.choice(path)
    const seen = new Set<string>()
    let named = false
    let at = this.#space(start + 1)
    while (codeAt(this.#source, at) === quote) {
      const keyEnd = this.#stringEnd(at)
      const key = JSON.parse(sourceText(this.#source, at, keyEnd)) as string
      const valueStart = this.#space(this.#space(keyEnd) + 1)
      const before = path === '' ? '' : `${path}.`
      const next = findPlace(node.role === 'name' ? objectWithName : node, key, seen, before)
      named ||= next !== undefined
      at = this.#space(
        next === undefined ? this.#skip(valueStart) : this.value(valueStart, next, before + key, level + 1),
      )
      if (codeAt(this.#source, at) === comma) at = this.#space(at + 1)
    }
    // For example, a router's map from models to models names them in its keys.
    if (node.role === 'name' && !named) this.#visitor.choice(path)
    return at + 1
  }

  /** Returns the end of the value that begins at `start`. */
  #skip(start: number): number {
    const source = this.#source
    let depth = 0
    for (let at = start; at < source.length; at++) {
      const code = codeAt(source, at)
      if (code === quote) {
        at = this.#stringEnd(at) - 1
        if (depth === 0) return at + 1
      } else if (code === openBrace || code === openBracket) depth++
      else if (code === closeBrace || code === closeBracket) {
        if (depth === 0) return this.#spaceBefore(at)
        if (--depth === 0) return at + 1
      } else if (code === comma && depth === 0) return this.#spaceBefore(at)
    }
    return source.length
  }

  /** Returns the position after the closing quote of the string that opens at `open`. */
  #stringEnd(open: number): number {
    const source = this.#source
    for (let at = open + 1; ; ) {
      const close = typeof source === 'string' ? source.indexOf('"', at) : source.indexOf(quote, at)
      if (close < 0) return source.length
      let first = close
      while (first > at && codeAt(source, first - 1) === backslash) first--
      if ((close - first) % 2 === 0) return close + 1
      at = close + 1
    }
  }

  #space(from: number): number {
    let at = from
    while (isSpace(codeAt(this.#source, at))) at++
    return at
  }

  #spaceBefore(to: number): number {
    let at = to
    while (isSpace(codeAt(this.#source, at - 1))) at--
    return at
  }
}

/** The only relevant member of an object in place of a model name. */
const objectWithName: PlaceNode = {
  spellings: [],
  role: undefined,
  harmless: [],
  members: new Map([[foldName('model'), { spellings: ['model'], members: new Map(), role: 'name', harmless: [] }]]),
}
