import type { Gateway } from '@modelgate/core'

/**
 * What to register with Fastify so that everything the gateway answers reaches it: its routes, and those of their usual
 * misspellings (a version too many, none at all) that it accepts. Which ones these are, the gateway is asked.
 *
 * @returns Fastify paths (`/v1/models/*`), each with its methods
 */
export function routesOf(gateway: Gateway, methods: readonly string[]): Map<string, string[]> {
  const versions = new Set(gateway.routes.map(({ path }) => path.slice(0, path.indexOf('/', 1))))
  const found = new Map<string, string[]>()
  for (const { path } of gateway.routes) {
    const spellings = [path, path.slice(path.indexOf('/', 1)), ...[...versions].map((version) => version + path)]
    for (const spelling of spellings.flatMap((one) => [one, `${one}/`])) {
      const sample = spelling.replaceAll(/\{\w+\}/g, 'x')
      const answered = methods.filter((method) => gateway.match(method, sample) !== null)
      if (answered.length === 0) continue
      // A name in braces may hold slashes, which in Fastify only a wildcard does.
      const pattern = spelling.replace(/\{.*/, '*')
      found.set(pattern, [...new Set([...(found.get(pattern) ?? []), ...answered])])
    }
  }
  return found
}
