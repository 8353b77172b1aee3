import type { ModelRoute, Upstream } from '@modelgate/core'
import { type ProviderEntry, type ProviderEnvironment, providerCatalog } from '@modelgate/core/catalog'
import type { Env } from '../terminal/command-context.ts'
import { FlagOrEnvironmentError } from '../terminal/errors.ts'

/** A provider that is configured when the variable of its key is set. */
export interface EnvProvider extends ProviderEntry {
  /** Its name in the catalog, which is also the name of its upstream and of its factory. */
  readonly name: string
  readonly environment: ProviderEnvironment
}

/** The providers that environment variables can configure. If two serve the same model name, the first one gets it. */
export const envProviders: readonly EnvProvider[] = Object.entries(providerCatalog).flatMap(([name, entry]) => {
  const { environment } = entry
  return environment === undefined ? [] : [{ ...entry, name, environment }]
})

/** Upstreams and models from environment variables. */
export interface EnvUpstreams {
  readonly upstreams: Record<string, Upstream>
  readonly models: Record<string, ModelRoute>
  /** The variable of each upstream's key. */
  readonly keyNames: Record<string, string>
  /** Variables that are set but have no effect, with the reason. */
  readonly notes: string[]
}

/** Creates the upstreams of the keys in the environment, and their model routes. Throws an Error that names the variable. */
export function envUpstreams(env: Env): EnvUpstreams {
  const found: EnvUpstreams = { upstreams: {}, models: {}, keyNames: {}, notes: [] }
  for (const provider of envProviders) {
    const { name, environment } = provider
    const keyName = environment.apiKey.find((variable) => env[variable])
    const baseURL = env[environment.baseURL] || undefined
    if (keyName === undefined) {
      if (baseURL !== undefined)
        found.notes.push(`${environment.baseURL} is ignored, because ${environment.apiKey[0]} is not set`)
      continue
    }
    const options: Record<string, string> = { apiKey: env[keyName] ?? '' }
    if (baseURL !== undefined) options.baseURL = baseURL
    const missing = Object.entries(environment.required ?? {}).filter(([option, variables]) => {
      const value = variables.map((variable) => env[variable]).find((text) => text)
      if (value !== undefined) options[option] = value
      return value === undefined
    })
    if (missing.length > 0) {
      const variables = missing.map(([, [first]]) => first).join(' and ')
      found.notes.push(`${keyName} is ignored, because ${variables} is not set`)
      continue
    }
    found.upstreams[name] = createUpstream(provider, keyName, options)
    found.keyNames[name] = keyName
    for (const [model, route] of Object.entries(routesOf(provider))) found.models[model] ??= route
  }
  return found
}

function createUpstream(
  { create, environment }: EnvProvider,
  keyName: string,
  options: Readonly<Record<string, string>>,
): Upstream {
  const upstream = create(options as never)
  if (upstream.problems === undefined) return upstream
  const variableOf = (problem: string): string => {
    const required = Object.entries(environment.required ?? {}).find(([option]) => problem.startsWith(option))
    return required?.[1][0] ?? (problem.startsWith('baseURL') ? environment.baseURL : keyName)
  }
  throw new FlagOrEnvironmentError(upstream.problems.map((problem) => `${variableOf(problem)}: ${problem}`).join('; '))
}

/** Routes of the model names that only this provider has, and of each of its models as `name/…`. */
function routesOf({ name, environment }: EnvProvider): Record<string, ModelRoute> {
  const { models = [], exampleModel, otherModels } = environment
  const routes: Record<string, ModelRoute> = {}
  for (const model of models) routes[model] = name
  if (exampleModel !== undefined) routes[prefixed(name, exampleModel)] = { upstream: name, model: exampleModel }
  routes[`${name}/*`] = { upstream: name, model: '*' }
  if (otherModels !== undefined) routes[otherModels] = name
  return routes
}

const prefixed = (name: string, model: string): string => (model.startsWith(`${name}/`) ? model : `${name}/${model}`)
