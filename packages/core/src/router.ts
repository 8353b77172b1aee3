import type { GatewayConfig, Identity, ModelRoute, OnLoss, Target } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Upstream } from './upstreams/upstream.ts'

/** A target made definite for one call. */
export interface ResolvedTarget {
  readonly upstreamName: string
  readonly upstream: Upstream
  /** The model's name at the upstream. */
  readonly model: string
  readonly onLoss?: OnLoss | undefined
}

/** Model names to targets. No regular expressions: names come from clients. */
export interface Router {
  /** The targets for a model, in order. Throws `model_not_found`, also for a model the caller may not use. */
  plan(model: string, identity: Identity | null): readonly ResolvedTarget[]
  /** The exact names a caller may use: what a model list can show. */
  list(identity: Identity | null): readonly string[]
  /** Whether a caller can ask for this name (exact or by prefix). */
  has(model: string, identity: Identity | null): boolean
}

export function createRouter(config: Pick<GatewayConfig, 'models' | 'upstreams'>): Router {
  const exact = new Map<string, readonly Target[]>()
  const prefixes: { prefix: string; targets: readonly Target[] }[] = []
  for (const [name, route] of Object.entries(config.models)) {
    const targets = targetsOf(route)
    if (name.endsWith('*')) prefixes.push({ prefix: name.slice(0, -1), targets })
    else exact.set(name, targets)
  }
  prefixes.sort((a, b) => b.prefix.length - a.prefix.length)

  const find = (model: string): { targets: readonly Target[]; rest: string } | undefined => {
    const named = exact.get(model)
    if (named !== undefined) return { targets: named, rest: model }
    const hit = prefixes.find(({ prefix }) => model.startsWith(prefix))
    return hit === undefined ? undefined : { targets: hit.targets, rest: model.slice(hit.prefix.length) }
  }

  return {
    plan(model, identity) {
      const hit = mayUse(identity, model) ? find(model) : undefined
      if (hit === undefined)
        throw new GatewayError(
          'model_not_found',
          `The model '${shorten(model)}' does not exist or you do not have access to it.`,
          {
            param: 'model',
          },
        )
      return hit.targets.map((target) => ({
        upstreamName: target.upstream,
        upstream: config.upstreams[target.upstream] as Upstream,
        onLoss: target.onLoss,
        model:
          target.model === undefined
            ? model
            : target.model.endsWith('*')
              ? target.model.slice(0, -1) + hit.rest
              : target.model,
      }))
    },
    list: (identity) => [...exact.keys()].filter((name) => mayUse(identity, name)),
    has: (model, identity) => mayUse(identity, model) && find(model) !== undefined,
  }
}

export const targetsOf = (route: ModelRoute): readonly Target[] =>
  (Array.isArray(route) ? (route as readonly (string | Target)[]) : [route as string | Target]).map((target) =>
    typeof target === 'string' ? { upstream: target } : target,
  )

function mayUse(identity: Identity | null, model: string): boolean {
  const allowed = identity?.models
  return (
    allowed === undefined ||
    allowed.some((name) => (name.endsWith('*') ? model.startsWith(name.slice(0, -1)) : name === model))
  )
}

const shorten = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)
