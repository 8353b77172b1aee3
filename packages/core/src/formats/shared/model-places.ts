/**
 * The members of a format's requests that name or choose a model. Paths are written as in JavaScript (`tools[].model`); a member that is
 * declared as a list is also checked where a client sends a single value.
 *
 * A format or operation has one list. It holds every member that an upstream of the format is known to read, vendors' extensions included.
 */
export interface ModelPlaceList {
  /** Members that hold a model's name, a list of names, or objects with a `model`. */
  readonly names: readonly string[]
  /** Members that choose a model without naming it, each with the values that choose none. */
  readonly chooses?: { readonly [path: string]: readonly string[] }
  /** Parts of a request that have the members of another part; `''` is the whole request. */
  readonly alike?: { readonly [path: string]: string }
  /** Members may also be written in snake case, and names after a collection (`models/x`): JSON of protocol buffers. */
  readonly protobuf?: boolean
}

/** What to do with one member, and with the members inside it. */
export interface PlaceNode {
  /** How the member may be written. */
  readonly spellings: readonly string[]
  readonly members: Map<string, PlaceNode>
  role: 'name' | 'choice' | undefined
  /** Values of a choice that choose no model. */
  harmless: readonly string[]
}

/** A list of places in the form that requests are checked by. */
export interface ModelPlaces {
  readonly list: ModelPlaceList
  /** The top-level members that name or choose a model, by their folded names. */
  readonly topLevel: ReadonlyMap<string, string>
  /** `hintOf` those names: nearly all other members of requests have another one. */
  readonly hints: ReadonlySet<number>
  /** Built by the first call that needs it. */
  readonly root: PlaceNode
}

/**
 * A member's name as the most tolerant parser reads it. Go's JSON decoder ignores case, by Unicode's simple folding ('ſ' is an 's');
 * decoders of protocol buffers take snake case for camel case.
 */
export const foldName = (name: string): string => name.toUpperCase().toLowerCase().replaceAll('_', '')

/** Length and first letter in one number: a name that reads as another one has the same, but for first letters beyond ASCII. */
export const hintOf = (name: string): number => name.length * 32 + (name.charCodeAt(0) & 31)

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The members on the way to a place, outermost first. */
const membersOf = (path: string): readonly string[] =>
  path === '' ? [] : path.split('.').map((member) => member.replaceAll('[]', ''))

/** Prepares a list for checks. */
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

function compile({ names, chooses = {}, alike = {}, protobuf = false }: ModelPlaceList): PlaceNode {
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
  alike: { extra_body: '' },
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
  alike: { 'tools[].tools': 'tools', 'tools[].parameters.tools': 'tools' },
} as const satisfies ModelPlaceList
