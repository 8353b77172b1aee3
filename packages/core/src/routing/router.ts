import { GatewayError } from '../base/errors.ts'
import { foldName, hintOf, type JsonObject, type Member } from '../base/json/json.ts'
import type {
  GatewayConfig,
  HoldUntil,
  ModelRoute,
  RetryConfig,
  Strategy,
  Target,
  TargetCondition,
} from '../config/config.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { TargetLimits } from '../config/limits.ts'
import type { ModelCard } from '../formats/model-card.ts'
import type { RequestBody } from '../formats/request-body.ts'
import {
  duplicate,
  findPlace,
  type ModelPlaces,
  otherSpelling,
  type PlaceVisitor,
  visitPlaces,
  visitText,
} from '../formats/shared/model-places.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { fillStars, matchesModel, type NamePattern, namePattern } from './model-patterns.ts'
import { resolveRetry } from './retry-policy.ts'

/** A target with the model name of one call. */
export interface ResolvedTarget {
  /** Key of its health: `upstream/model`. */
  readonly id: string
  readonly upstreamName: string
  readonly upstream: Upstream
  /** The model's name at the upstream. */
  readonly model: string
  readonly onLoss?: OnLoss | undefined
  readonly priority: number
  readonly weight: number
  /** Conditions of which a request must meet one. Undefined: none. `'fits'` is not among them. */
  readonly when?: readonly Condition[] | undefined
  /** The target accepts only requests that fit its context window. */
  readonly fits?: boolean | undefined
  readonly card?: ModelCard | undefined
  readonly defaults?: JsonObject | undefined
  readonly overrides?: JsonObject | undefined
  readonly cache?: Target['cache'] | undefined
  readonly limits?: TargetLimits | undefined
}

/** A condition that depends on the request alone. */
export type Condition = Exclude<TargetCondition, 'fits'>

/** A model's targets and the settings for the choice among them. */
export interface Plan {
  /** In the order of the configuration, not of the attempts. */
  readonly targets: readonly ResolvedTarget[]
  readonly strategy: Strategy
  readonly preferLossless: boolean
  readonly retry: Required<RetryConfig>
  readonly hedgeMs: number | undefined
  readonly holdUntil: HoldUntil | undefined
  /** Some targets have a `when` condition other than `'fits'`. */
  readonly conditional: boolean
  /** Some targets accept only requests that fit their context window. */
  readonly fits: boolean
  /** The upstreams of some targets have several keys. */
  readonly hasKeyPool: boolean
  /** Facts about the model for clients. */
  readonly card: ModelCard | undefined
}

/** Maps model names to plans. */
export interface Router {
  /** Returns the plan for a model. Throws GatewayError `model_not_found`, also for a model that the caller may not use. */
  plan(model: string, identity: Identity | null): Plan
  /** Returns the names for a caller's model list: exact and listed names that it may use. */
  list(identity: Identity | null): readonly string[]
  /**
   * Throws GatewayError `model_not_found` if a request names a further model that its caller may not use.
   *
   * @param param path of the name in the request
   * @param collections the name may have a collection prefix (`models/x`), which the caller's list omits
   */
  checkName(name: string, identity: Identity | null, param: string, collections: boolean): void
  /** Returns whether a caller can use a model name, exact or by a pattern. */
  has(model: string, identity: Identity | null): boolean
  /** Returns the targets of exact routes, and of patterns for the models of recent calls. A target may occur more than once. */
  targets(): readonly ResolvedTarget[]
}

interface Route extends Omit<Plan, 'targets' | 'hasKeyPool'> {
  readonly targets: readonly Target[]
}

/** Largest number of cached plans for names that match a pattern: such names come from clients. */
const maxCachedPlans = 1000

/** Creates the router of a configuration. */
export function createRouter(config: Pick<GatewayConfig, 'models' | 'upstreams' | 'retry' | 'listedModels'>): Router {
  const exact = new Map<string, Route>()
  const patterns: { pattern: NamePattern; route: Route }[] = []
  for (const [name, given] of Object.entries(config.models)) {
    const route = routeOf(given, config.retry)
    if (name.includes('*')) patterns.push({ pattern: namePattern(name), route })
    else exact.set(name, route)
  }
  patterns.sort((a, b) => b.pattern.weight - a.pattern.weight)

  const resolve = (target: Target, requested: string, stars: readonly string[]): ResolvedTarget => {
    const model = target.model === undefined ? requested : fillStars(target.model, stars)
    const { upstream, priority = 0, weight = 1, card, defaults, overrides, cache, limits, onLoss } = target
    const { when, fits } = conditionsOf(target)
    return {
      id: `${upstream}/${model}`,
      upstreamName: upstream,
      upstream: config.upstreams[upstream] as Upstream,
      model,
      onLoss,
      priority,
      weight,
      when,
      fits,
      card,
      defaults,
      overrides,
      cache,
      limits,
    }
  }
  const planFor = (route: Route, model: string, stars: readonly string[]): Plan => {
    const targets = route.targets.map((target) => resolve(target, model, stars))
    return { ...route, targets, hasKeyPool: targets.some(({ upstream }) => (upstream.keys?.length ?? 0) > 1) }
  }
  const named = new Map([...exact].map(([name, route]) => [name, planFor(route, name, [name])]))
  const listed = [...new Set([...named.keys(), ...(config.listedModels ?? [])])]
  let matched = new Map<string, Plan>()
  /** Returns the same plan object for the same name: callers store state per plan and target. */
  const find = (model: string): Plan | undefined => {
    const known = named.get(model) ?? matched.get(model)
    if (known !== undefined) return known
    for (const { pattern, route } of patterns) {
      const stars = pattern.match(model)
      if (stars === undefined) continue
      const plan = planFor(route, model, stars)
      if (matched.size >= maxCachedPlans) matched = new Map()
      matched.set(model, plan)
      return plan
    }
    return undefined
  }

  return {
    plan(model, identity) {
      // Bounds all caches that are keyed by model names.
      const plan = model.length <= maxNameLength && mayUse(identity, model) ? find(model) : undefined
      if (plan === undefined) throw modelNotFound(model, 'model')
      return plan
    },
    checkName(name, identity, param, collections) {
      if (mayUse(identity, name) || (collections && mayUse(identity, name.slice(name.lastIndexOf('/') + 1)))) return
      throw modelNotFound(name, param)
    },
    list: (identity) => listed.filter((name) => mayUse(identity, name)),
    has: (model, identity) => model.length <= maxNameLength && mayUse(identity, model) && find(model) !== undefined,
    targets: () => [...named.values(), ...matched.values()].flatMap(({ targets }) => targets),
  }
}

const isList = (route: ModelRoute): route is readonly (string | Target)[] => Array.isArray(route)

/** Returns the targets of a route in any of its notations. */
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
    holdUntil: plan?.holdUntil,
    conditional: targets.some((target) => conditionsOf(target).when !== undefined),
    fits: targets.some((target) => conditionsOf(target).fits),
    card: plan?.card,
  }
}

/** Separates `'fits'`, which depends on the target, from the other conditions. */
function conditionsOf({ when }: Target): { readonly when: readonly Condition[] | undefined; readonly fits: boolean } {
  const all: readonly TargetCondition[] = when === undefined ? [] : isConditionList(when) ? when : [when]
  const others = all.filter((condition) => condition !== 'fits')
  return { when: others.length === 0 ? undefined : others, fits: others.length < all.length }
}

const isConditionList = (when: NonNullable<Target['when']>): when is readonly TargetCondition[] => Array.isArray(when)

function mayUse(identity: Identity | null, model: string): boolean {
  const allowed = identity?.models
  return allowed === undefined || matchesModel(model, allowed)
}

const maxNameLength = 256

const modelNotFound = (model: string, param: string): GatewayError =>
  new GatewayError(
    'model_not_found',
    `The model '${shorten(model)}'${param === 'model' ? '' : `, named in '${param}',`} does not exist or you do not have access to it.`,
    { param },
  )

const shorten = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

// Further model names. A request can name models in addition to its `model` (fallbacks, tools, image models). An upstream would use
// them, so a caller with a model list may name only models of that list.

/** A call whose request may name further models. */
export interface ModelNamingCall {
  readonly request: RequestBody
  /** The fields of an upload, whose body is no JSON. */
  readonly form?: { readonly parts: readonly { readonly name: string; readonly text?: string }[] } | undefined
  readonly modelPlaces: ModelPlaces
}

/** The members of longer bodies were located when the body was read. */
const scannedChars = 32_768

/**
 * Checks every model that a request names against its caller's list, before any upstream is called. For callers with a list, members that
 * choose a model without naming one are rejected. A duplicate or another spelling of such a member is rejected at the top level of
 * every request, and at any level for callers with a list: an upstream could read another member than the checked one.
 *
 * A name is compared with the list as the client wrote it. The upstream receives it unchanged, so it needs no route.
 *
 * @throws GatewayError `model_not_found`, `permission` or `invalid_request`
 */
export function checkNamedModels(call: ModelNamingCall, router: Router, identity: Identity | null): void {
  const { request, form, modelPlaces } = call
  if (!hasModelList(identity)) {
    rejectAmbiguous(call)
    return
  }
  const visitor = modelListVisitor(modelPlaces, router, identity)
  if (form !== undefined) visitForm(form.parts, modelPlaces, visitor)
  else if (request.outline !== undefined) visitPlaces(request.bytes, request.outline.members, modelPlaces.root, visitor)
  else visitPlaces(request.text, request.members, modelPlaces.root, visitor)
}

/** Returns whether a caller may use only some models. */
export const hasModelList = (
  identity: Identity | null,
): identity is Identity & { readonly models: readonly string[] } =>
  identity?.models !== undefined && !identity.models.includes('*')

/** Creates the visitor that checks model names against the caller's list. */
export function modelListVisitor({ list }: ModelPlaces, router: Router, identity: Identity | null): PlaceVisitor {
  return {
    name: (name, path) => router.checkName(name, identity, path, list.protobuf === true),
    choice(path) {
      throw new GatewayError(
        'permission',
        `'${path}' selects a model without naming it, but your token may use only listed models. Leave it out.`,
        { param: path },
      )
    },
  }
}

/** Visits the fields of an upload. A field's name is a path with brackets: `svg[model]`, `image[]`. */
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
      // Visited at each level, also for `models[x]`: the text in brackets may be no known path.
      visitText(text, node, path, visitor)
    }
  }
}

/** Rejects members that are ambiguous for every caller. Reads each top-level key, and searches the text for a second `model`. */
function rejectAmbiguous({ request, modelPlaces: { topLevel, hints } }: ModelNamingCall): void {
  const { outline } = request
  if (outline !== undefined || request.text.length >= scannedChars) {
    rejectAmbiguousMembers((outline ?? request).members, topLevel)
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
  if (further || mayHaveSecondModel(request.text)) rejectAmbiguousMembers(request.members, topLevel)
}

function rejectAmbiguousMembers(members: readonly Member[], topLevel: ReadonlyMap<string, string>): void {
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

/** Returns whether a quick search of the text cannot rule out a second top-level `model`. */
function mayHaveSecondModel(text: string): boolean {
  // An escape may hide a letter of the name. Escapes of ASCII letters start with `\u00`.
  if (text.includes('\\u00')) return true
  let found = 0
  // `model"` is rarer than a quote, with which the complete search text would begin.
  for (let at = text.indexOf('model"'); at > 0; at = text.indexOf('model"', at + 6))
    if (text.charCodeAt(at - 1) === quote && ++found > 1) return true
  return false
}
