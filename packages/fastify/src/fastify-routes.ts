import type { Gateway } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'

/**
 * Returns the routes to register with Fastify: those of the gateway, and their variants that the gateway's `match` accepts (a
 * doubled version, no version, a trailing slash).
 *
 * @param sharesRoot see `AdapterFunctions.match`
 * @returns Fastify paths (`/v1/models/*`) with their methods
 */
export function fastifyRoutes(
  gateway: Gateway,
  methods: readonly string[],
  sharesRoot: boolean,
): Map<string, string[]> {
  const { match } = adapterFunctions(gateway)
  const routes = new Map<string, string[]>()
  for (const { path } of gateway.routes) {
    const variants = [path, path.slice(path.indexOf('/', 1)), `/v1${path}`]
    for (const variant of variants.flatMap((one) => [one, `${one}/`])) {
      const sample = variant.replaceAll(/\{\w+\}/g, 'x')
      const servedMethods = methods.filter((method) => match(method, sample, sharesRoot) !== null)
      if (servedMethods.length === 0) continue
      // A parameter may contain slashes, which Fastify allows for a wildcard only.
      const pattern = variant.replace(/\{.*/, '*')
      routes.set(pattern, [...new Set([...(routes.get(pattern) ?? []), ...servedMethods])])
    }
  }
  return routes
}
