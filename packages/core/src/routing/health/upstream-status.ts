import type { GatewayConfig } from '../../config/config.ts'
import type { UpstreamStatus } from '../../config/plugin.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import type { Router } from '../router.ts'
import type { Health, UpstreamHealth } from './health.ts'

/** Returns the states of all upstreams of a configuration. Calls pay nothing for it: all states are read now. */
export function upstreamStatuses(
  upstreams: GatewayConfig['upstreams'],
  router: Pick<Router, 'targets'>,
  health: Pick<Health, 'upstreamHealth'>,
): readonly UpstreamStatus[] {
  const known = new Map<string, Set<string>>(Object.keys(upstreams).map((name) => [name, new Set()]))
  for (const { upstreamName, model } of router.targets()) known.get(upstreamName)?.add(model)
  return [...known].map(([name, models]) => {
    const one = health.upstreamHealth(name)
    // Models that match a pattern are unknown to the router of a new configuration until they are called.
    for (const id of one.breaker.ids()) models.add(id.slice(name.length + 1))
    const targets = [...models].flatMap((model) => targetStatus(name, upstreams[name] as Upstream, model, one))
    const state = severities.find((severity) => targets.some((target) => target.state === severity)) ?? 'closed'
    return { upstream: name, state, available: state !== 'open' || one.breaker.hasSucceeded(), targets }
  })
}

/** The worst first. */
const severities = ['open', 'half-open', 'cooldown'] as const

/** Returns the state of a target; nothing if calls to it are not restricted. */
function targetStatus(
  upstreamName: string,
  upstream: Upstream,
  model: string,
  { breaker, keys }: Pick<UpstreamHealth, 'breaker' | 'keys'>,
): UpstreamStatus['targets'] {
  const id = `${upstreamName}/${model}`
  const state = breaker.stateOf(id)
  if (state !== 'closed') return [{ model, state, ...wait(breaker.waitMs(id)) }]
  const { waitMs } = keys.peek(upstreamName, upstream, model)
  return waitMs > 0 ? [{ model, state: 'cooldown', ...wait(waitMs) }] : []
}

const wait = (waitMs: number): { readonly forMs?: number } => (waitMs > 0 ? { forMs: Math.ceil(waitMs) } : {})
