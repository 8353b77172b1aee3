import type { ModelRoute, Target } from '@modelgate/core'

/** Returns the targets of a route in the order of the configuration. */
export function targetsOf(route: ModelRoute): Target[] {
  const list = typeof route === 'object' && 'targets' in route ? route.targets : Array.isArray(route) ? route : [route]
  return (list as readonly (string | Target)[]).map((one) => (typeof one === 'string' ? { upstream: one } : one))
}
