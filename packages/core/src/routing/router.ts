import { GatewayError } from '../base/errors.ts'
import type { Member } from '../base/json/scan.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { GatewayConfig, ModelRoute, RetryConfig, Strategy, Target, TargetLimits } from '../config/config.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { RequestBody } from '../formats/request-body.ts'
import {
  duplicate,
  findPlace,
  foldName,
  hintOf,
  type ModelPlaces,
  otherSpelling,
  type PlaceVisitor,
  visitPlaces,
  visitText,
} from '../formats/shared/model-places.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { fillStars, matchesModel, type NamePattern, namePattern } from './model-patterns.ts'
import { resolveRetry } from './retry-policy.ts'

/** A target made definite for one call. */
export interface ResolvedTarget {
  /** Under which its health is known. */
  readonly id: string
  readonly upstreamName: string
  readonly upstream: Upstream
  /** The model's name at the upstream. */
  readonly model: string
  readonly onLoss?: OnLoss | undefined
  readonly priority: number
  readonly weight: number
  readonly when?: Target['when'] | undefined
  readonly defaults?: JsonObject | undefined
  readonly overrides?: JsonObject | undefined
  readonly limits?: TargetLimits | undefined
}

/** A model's targets, and how to choose among them. */
export interface Plan {
  /** As configured: not in the order in which they are tried. */
  readonly targets: readonly ResolvedTarget[]
  readonly strategy: Strategy
  readonly preferLossless: boolean
  readonly retry: Required<RetryConfig>
  readonly hedgeMs: number | undefined
  /** Some targets are meant for some requests only. */
  readonly conditional: boolean
}

/** Model names to targets. No regular expressions: names come from clients. */
export interface Router {
  /** The plan for a model. Throws `model_not_found`, also for a model the caller may not use. */
  plan(model: string, identity: Identity | null): Plan
  /** The names that a model list shows a caller: the exact names and the listed ones, those that it may use. */
  list(identity: Identity | null): readonly string[]
  /**
   * Throws `model_not_found` for a further model that a request names and its caller may not use.
   *
   * @param param where it stands in the request
   * @param collections the name may follow a collection (`models/x`), which the caller's list leaves out
   */
  checkName(name: string, identity: Identity | null, param: string, collections: boolean): void
  /** Whether a caller can ask for this name (exact or by a pattern). */
  has(model: string, identity: Identity | null): boolean
}

interface Route extends Omit<Plan, 'targets'> {
  readonly targets: readonly Target[]
}

/** Names under patterns come from clients: of no more than these the plans are remembered. */
const mostPlans = 1000

export function createRouter(config: Pick<GatewayConfig, 'models' | 'upstreams' | 'retry' | 'listedModels'>): Router {
  const exact = new Map<string, Route>()
  const patterns: { pattern: NamePattern; route: Route }[] = []
  for (const [name, given] of Object.entries(config.models)) {
    const route = routeOf(given, config.retry)
    if (name.includes('*')) patterns.push({ pattern: namePattern(name), route })
    else exact.set(name, route)
  }
  patterns.sort((a, b) => b.pattern.weight - a.pattern.weight)

  const resolve = (target: Target, asked: string, stars: readonly string[]): ResolvedTarget => {
    const model = target.model === undefined ? asked : fillStars(target.model, stars)
    const { upstream, priority = 0, weight = 1, when, defaults, overrides, limits, onLoss } = target
    return {
      id: `${upstream}/${model}`,
      upstreamName: upstream,
      upstream: config.upstreams[upstream] as Upstream,
      model,
      onLoss,
      priority,
      weight,
      when,
      defaults,
      overrides,
      limits,
    }
  }
  const made = (route: Route, model: string, stars: readonly string[]): Plan => ({
    ...route,
    targets: route.targets.map((target) => resolve(target, model, stars)),
  })
  const named = new Map([...exact].map(([name, route]) => [name, made(route, name, [name])]))
  const listed = [...new Set([...named.keys(), ...(config.listedModels ?? [])])]
  let matched = new Map<string, Plan>()
  /** The same name has the same plan and the same targets: what is known of them is kept by them. */
  const find = (model: string): Plan | undefined => {
    const known = named.get(model) ?? matched.get(model)
    if (known !== undefined) return known
    for (const { pattern, route } of patterns) {
      const stars = pattern.match(model)
      if (stars === undefined) continue
      const plan = made(route, model, stars)
      if (matched.size >= mostPlans) matched = new Map()
      matched.set(model, plan)
      return plan
    }
    return undefined
  }

  return {
    plan(model, identity) {
      // Names are remembered in many places; none is as long as this.
      const plan = model.length <= longestName && mayUse(identity, model) ? find(model) : undefined
      if (plan === undefined) throw modelNotFound(model, 'model')
      return plan
    },
    checkName(name, identity, param, collections) {
      if (mayUse(identity, name) || (collections && mayUse(identity, name.slice(name.lastIndexOf('/') + 1)))) return
      throw modelNotFound(name, param)
    },
    list: (identity) => listed.filter((name) => mayUse(identity, name)),
    has: (model, identity) => model.length <= longestName && mayUse(identity, model) && find(model) !== undefined,
  }
}

const isList = (route: ModelRoute): route is readonly (string | Target)[] => Array.isArray(route)

export const routeTargets = (route: ModelRoute): readonly Target[] => {
  const given = isList(route) ? route : typeof route === 'object' && 'targets' in route ? route.targets : [route]
  return given.map((target) => (typeof target === 'string' ? { upstream: target } : target))
}

function routeOf(given: ModelRoute, retry: GatewayConfig['retry']): Route {
  const targets = routeTargets(given)
  const plan = typeof given === 'object' && 'targets' in given ? given : undefined
  return {
    targets,
    strategy: plan?.strategy ?? (targets.some(({ weight }) => weight !== undefined) ? 'weighted' : 'order'),
    preferLossless: plan?.preferLossless ?? true,
    retry: resolveRetry(retry, plan?.retry),
    hedgeMs: plan?.hedgeMs,
    conditional: targets.some(({ when }) => when !== undefined),
  }
}

function mayUse(identity: Identity | null, model: string): boolean {
  const allowed = identity?.models
  return allowed === undefined || matchesModel(model, allowed)
}

const longestName = 256

const modelNotFound = (model: string, param: string): GatewayError =>
  new GatewayError(
    'model_not_found',
    `The model '${shorten(model)}'${param === 'model' ? '' : `, named in '${param}',`} does not exist or you do not have access to it.`,
    { param },
  )

const shorten = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** A call whose request may name models beside its own. */
export interface ModelNamingCall {
  readonly request: RequestBody
  /** An upload's fields, which stand in no body text. */
  readonly form?: { readonly parts: readonly { readonly name: string; readonly text?: string }[] } | undefined
  readonly modelPlaces: ModelPlaces
}

/** From here on the members of a body have been looked up when it was read. */
const scannedChars = 32_768

/**
 * Checks every model that a request names against its caller's list, before any upstream is called. Members that choose a model without naming it
 * are refused for callers that have a list. A duplicate or another spelling of such a member is refused for everybody at the top of the
 * request, and anywhere in it for callers that have a list: upstreams would read another one than was checked.
 *
 * A name is compared with the list as the client wrote it: the upstream gets it unchanged, and needs no route here.
 *
 * @throws GatewayError `model_not_found`, `permission` or `invalid_request`
 */
export function checkNamedModels(call: ModelNamingCall, router: Router, identity: Identity | null): void {
  const { request, form, modelPlaces } = call
  if (!hasModelList(identity)) {
    refuseAmbiguous(call)
    return
  }
  const visitor = modelListVisitor(modelPlaces, router, identity)
  if (form !== undefined) visitForm(form.parts, modelPlaces, visitor)
  else if (request.outline !== undefined) visitPlaces(request.bytes, request.outline.members, modelPlaces.root, visitor)
  else visitPlaces(request.text, request.members, modelPlaces.root, visitor)
}

/** Whether a caller may use some models only. */
export const hasModelList = (
  identity: Identity | null,
): identity is Identity & { readonly models: readonly string[] } =>
  identity?.models !== undefined && !identity.models.includes('*')

/** Asks the caller's list. */
export function modelListVisitor({ list }: ModelPlaces, router: Router, identity: Identity | null): PlaceVisitor {
  return {
    name: (name, path) => router.checkName(name, identity, path, list.protobuf === true),
    choice(path) {
      throw new GatewayError(
        'permission',
        `'${path}' chooses a model without naming one from the list that your access is limited to: leave it out.`,
        { param: path },
      )
    },
  }
}

/** A field's name is a path with brackets: `svg[model]`, `image[]`. */
function visitForm(
  parts: NonNullable<ModelNamingCall['form']>['parts'],
  { root }: ModelPlaces,
  visitor: PlaceVisitor,
): void {
  for (const { name, text = '' } of parts) {
    let node = root
    let path = ''
    const segments = name.split(/[.[\]]+/).filter((segment) => segment !== '' && Number.isNaN(Number(segment)))
    for (const segment of segments) {
      const next = findPlace(node, segment, new Set(), path === '' ? '' : `${path}.`)
      if (next === undefined) break
      node = next
      path += path === '' ? segment : `.${segment}`
      // Also for `models[x]`: what stands within a name's brackets is no path that is known.
      visitText(text, node, path, visitor)
    }
  }
}

/** What is refused whoever sends it. Costs a look at each top-level key, and one at the text for a second `model`. */
function refuseAmbiguous({ request, modelPlaces: { topLevel, hints } }: ModelNamingCall): void {
  const { outline } = request
  if (outline !== undefined || request.text.length >= scannedChars) {
    refuseAmong((outline ?? request).members, topLevel)
    return
  }
  let further = false
  for (const key in request.value) {
    if (key === 'model' || (!hints.has(hintOf(key)) && key.charCodeAt(0) < 128)) continue
    const declared = topLevel.get(foldName(key))
    if (declared === undefined) continue
    if (declared !== key) throw otherSpelling(key, declared)
    further = true
  }
  if (further || mayNameModelTwice(request.text)) refuseAmong(request.members, topLevel)
}

function refuseAmong(members: readonly Member[], topLevel: ReadonlyMap<string, string>): void {
  const seen = new Set<string>()
  for (const { key } of members) {
    const declared = topLevel.get(foldName(key))
    if (declared === undefined) continue
    if (declared !== key) throw otherSpelling(key, declared)
    if (seen.has(key)) throw duplicate(key)
    seen.add(key)
  }
}

const quote = 0x22

/** Whether a short look at the text cannot rule out a second `model` at its top. */
function mayNameModelTwice(text: string): boolean {
  // An escape may hide one. Letters of ASCII are the only ones that matter here.
  if (text.includes('\\u00')) return true
  let found = 0
  // There are fewer places with this than with a quote, where a search for all of it would begin.
  for (let at = text.indexOf('model"'); at > 0; at = text.indexOf('model"', at + 6))
    if (text.charCodeAt(at - 1) === quote && ++found > 1) return true
  return false
}
