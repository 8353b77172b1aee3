import type { Authenticate, GatewayConfig } from '../config/config.ts'
import type { Plugin } from '../config/plugin.ts'
import { defaultErrorFormat, type Route } from '../operations/routes.ts'

/** A gateway's plugins: what belongs to `auth` first, none twice. Throws a TypeError for what is none. */
export function resolvePlugins({ auth, plugins = [] }: Pick<GatewayConfig, 'auth' | 'plugins'>): readonly Plugin[] {
  const own = (auth as Authenticate).plugin
  const all = [...new Set(own === undefined ? plugins : [own, ...plugins])]
  for (const plugin of all) {
    if (typeof plugin !== 'object' || plugin === null || typeof plugin.name !== 'string')
      throw new TypeError("plugins: each is an object with a `name`, such as { name: 'meter', onFinish(event) {} }")
    for (const { method, path, handle } of plugin.routes ?? [])
      if (!methods.has(method) || typeof path !== 'string' || !path.startsWith('/') || typeof handle !== 'function')
        throw new TypeError(
          `plugins: a route of '${plugin.name}' is none: give { method: 'GET', path: '/…', handle(inbound, params) {} }`,
        )
  }
  return all
}

/** The plugins' own endpoints, as lines of the table. Their errors are told in the words that most clients read. */
export const pluginRoutes = (plugins: readonly Plugin[]): readonly Route[] =>
  plugins.flatMap(({ routes = [] }) =>
    routes.map(
      ({ method, path, handle }) =>
        ({ method, path, handle, operation: 'plugin', format: defaultErrorFormat }) as const,
    ),
  )

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
