import { GatewayError } from '../base/errors.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { GatewayConfig, ModelRoute, RetryConfig, Strategy, Target, TargetLimits } from '../config/config.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { fillStars, matchesModel, type NamePattern, namePattern } from './model-patterns.ts'
import { retryOf } from './retry-policy.ts'

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

export const targetsOf = (route: ModelRoute): readonly Target[] => {
  const given = isList(route) ? route : typeof route === 'object' && 'targets' in route ? route.targets : [route]
  return given.map((target) => (typeof target === 'string' ? { upstream: target } : target))
}

function routeOf(given: ModelRoute, retry: GatewayConfig['retry']): Route {
  const targets = targetsOf(given)
  const plan = typeof given === 'object' && 'targets' in given ? given : undefined
  return {
    targets,
    strategy: plan?.strategy ?? (targets.some(({ weight }) => weight !== undefined) ? 'weighted' : 'order'),
    preferLossless: plan?.preferLossless ?? true,
    retry: retryOf(retry, plan?.retry),
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
