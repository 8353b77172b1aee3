import type { Inbound } from '../http/inbound.ts'
import type { Route, RouteMatch } from './route.ts'

/**
 * Finds the route of a method and path.
 *
 * @param sharesRoot a host with pages of its own serves the same paths: routes whose path the host may own do not match
 */
export type RouteMatcher = (method: string, path: string, sharesRoot?: boolean) => RouteMatch | null

/** Returns the match for a client: the route may be another one by the header `user-agent`. */
export function matchForAgent(found: RouteMatch | null, inbound: Pick<Inbound, 'header'>): RouteMatch | null {
  const byAgent = found?.route.byAgent
  if (found === null || byAgent === undefined) return found
  const agent = inbound.header('user-agent')
  if (agent === undefined) return found
  for (const [beginning, route] of byAgent) if (agent.startsWith(beginning)) return { ...found, route }
  return found
}

/** Routes of one path. */
interface ExactPath {
  readonly routes: Route[]
  /** A path without its version matches its own method only: the host may have a /messages page. */
  readonly ownMethodOnly: boolean
}

/** Routes whose paths differ at most in the names of their parameters. */
interface Shape {
  /** The text before each parameter. */
  readonly literals: readonly string[]
  /** The text after the last parameter. */
  readonly suffix: string
  /** Length of all text that is no parameter. */
  readonly weight: number
  readonly routes: Route[]
}

/** A shape that a path has, with the values of its parameters. */
interface Fit {
  readonly shape: Shape
  readonly values: readonly string[]
}

const versions = ['/v1/v1/', '/v1/v1beta/', '/v1/v2/']

/**
 * Returns the path as the table spells it. A doubled version prefix is the most common mistake with a base URL, so
 * `/v1/v1/…`, `/v1/v1beta/…` and `/v1/v2/…` are collapsed, and a trailing slash is dropped. Google's SDK appends the paths of WebSockets to
 * a base URL that ends with a slash.
 */
function normalizePath(path: string): string {
  let clean = path
  for (const doubled of versions) if (clean.startsWith(doubled)) clean = clean.slice(3)
  if (clean.startsWith('//ws/')) clean = clean.slice(1)
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean
}

/** An action after a model's name. A tag (`qwen3:8b`) contains digits. */
const action = /:[A-Za-z]+$/

/**
 * Compiles a route table. Finding an exact path takes one map access. A path with parameters takes one for each of its segments, and a
 * comparison with the few routes that begin like it: more families of routes do not make a call slower.
 */
export function createMatcher(table: readonly Route[]): RouteMatcher {
  const { exact, shapes, depth } = compile(table)

  /** Calls back with each shape that begins like a path, by the folder of its first parameter. */
  const forEachShape = (path: string, callback: (shape: Shape) => void): void => {
    let slash = 0
    for (let level = 0; level < depth && slash >= 0; level++) {
      for (const shape of shapes.get(path.slice(0, slash + 1)) ?? []) callback(shape)
      slash = path.indexOf('/', slash + 1)
    }
  }

  /** Returns the most specific shape of a path: an action after the name is no part of the name. */
  const fitOf = (path: string): Fit | undefined => {
    let best: Fit | undefined
    forEachShape(path, (shape) => {
      if (best !== undefined && !isMoreSpecific(shape, best.shape)) return
      const values = valuesOf(shape, path)
      if (values !== undefined) best = { shape, values }
    })
    return best
  }

  /** Returns the match of a path that ends with an action which its models do not have. */
  const unknownAction = (path: string): RouteMatch | null => {
    if (!action.test(path)) return null
    let found: Shape[] = []
    /** Length of the text before the model: only actions of the most specific folder are listed. */
    let longest = 0
    forEachShape(path, (shape) => {
      const isAction = shape.suffix.startsWith(':') && shape.routes[0]?.handle === undefined
      const length = shape.weight - shape.suffix.length
      if (!isAction || length < longest || valuesOf({ ...shape, suffix: '' }, path) === undefined) return
      if (length > longest) found = []
      longest = length
      found.push(shape)
    })
    const [route] = found[0]?.routes ?? []
    return route === undefined ? null : { route, params: {}, actions: found.map(({ suffix }) => suffix) }
  }

  return (method, path, sharesRoot = false) => {
    const clean = normalizePath(path)
    const known = exact.get(clean)
    const fit = known === undefined ? fitOf(clean) : undefined
    const candidates = known?.routes ?? fit?.shape.routes
    if (candidates === undefined) return unknownAction(clean)
    const wanted = method === 'HEAD' ? 'GET' : method
    const route = candidates.find((candidate) => candidate.method === wanted)
    const some = route ?? (candidates[0] as Route)
    if (sharesRoot && some.hostMayOwn === true) return null
    const params = fit === undefined ? noParams : paramsOf(some, fit.values)
    if (route !== undefined) return { route, params }
    if (known?.ownMethodOnly === true || some.handle !== undefined) return null
    if (sharesRoot && !clean.startsWith('/v1')) return null
    const actions = some.operation === 'get-model' ? unknownAction(clean) : null
    return actions ?? { route: some, params, allow: candidates.map((candidate) => candidate.method).join(', ') }
  }
}

const noParams: RouteMatch['params'] = {}

const isMoreSpecific = (one: Shape, other: Shape): boolean =>
  one.weight > other.weight ||
  (one.weight === other.weight && (one.literals[0] ?? '').length > (other.literals[0] ?? '').length)

function compile(table: readonly Route[]): {
  readonly exact: ReadonlyMap<string, ExactPath>
  /** Shapes by the path up to the last slash before their first parameter. */
  readonly shapes: ReadonlyMap<string, Shape[]>
  /** The largest number of slashes in a key of `shapes`. */
  readonly depth: number
} {
  const exact = new Map<string, ExactPath>()
  const shapes = new Map<string, Shape[]>()
  const byPattern = new Map<string, Shape>()
  let depth = 0
  const addExact = (path: string, route: Route, ownMethodOnly: boolean): void => {
    const known = exact.get(path)
    if (known === undefined) exact.set(path, { routes: [route], ownMethodOnly })
    else known.routes.push(route)
  }
  const addShape = (route: Route, literals: readonly string[]): void => {
    const pattern = literals.join('{}')
    const known = byPattern.get(pattern)
    if (known !== undefined) {
      known.routes.push(route)
      return
    }
    const [prefix = ''] = literals
    const shape: Shape = {
      literals: literals.slice(0, -1),
      suffix: literals.at(-1) ?? '',
      weight: literals.join('').length,
      routes: [route],
    }
    byPattern.set(pattern, shape)
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1)
    shapes.set(folder, [...(shapes.get(folder) ?? []), shape])
    depth = Math.max(depth, folder.split('/').length - 1)
  }
  for (const route of table) {
    const literals = route.path.split(parameter)
    if (literals.length > 1) addShape(route, literals)
    else {
      addExact(route.path, route, false)
      if (route.unversionedAlias === true) addExact(route.path.slice(route.path.indexOf('/', 1)), route, true)
    }
  }
  return { exact, shapes, depth }
}

/** Returns the values of a shape's parameters in a path, as written; undefined if the path has another shape. */
function valuesOf({ literals, suffix }: Shape, path: string): string[] | undefined {
  const [prefix = '', ...others] = literals
  if (!path.startsWith(prefix) || !path.endsWith(suffix)) return undefined
  const values: string[] = []
  let from = prefix.length
  for (const literal of others) {
    const at = path.indexOf(literal, from)
    if (at <= from) return undefined
    const value = path.slice(from, at)
    // Only the last parameter may contain slashes.
    if (value.includes('/')) return undefined
    values.push(value)
    from = at + literal.length
  }
  const end = path.length - suffix.length
  if (end <= from) return undefined
  values.push(path.slice(from, end))
  return values
}

function paramsOf({ path, modelName }: Route, values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {}
  const names = path.match(parameter) ?? []
  for (const [at, name] of names.entries()) params[name.slice(1, -1)] = decode(values[at] ?? '')
  if (modelName !== undefined) params.model = modelName.replace(parameter, (name) => params[name.slice(1, -1)] ?? '')
  return params
}

const parameter = /\{\w*\}/g

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
