import type { ModelRoute, Upstream } from '@modelgate/core'
import * as core from '@modelgate/core'
import { OutsideError } from '../errors.ts'
import type { Env } from '../world.ts'

/** A provider that is served when its key is in the environment. */
export interface EnvProvider {
  /** As routes and tables call it. */
  readonly name: string
  /** Its key's variable; others that its own tools read are taken as well. */
  readonly keys: readonly [string, ...string[]]
  /** Variable of another address than its own. */
  readonly address: string
  /** Undefined: what else it needs is not set. */
  upstream(options: { apiKey: string; baseURL?: string }, env: Env): Upstream | undefined
  /** What else it needs, said where that is missing. */
  readonly needs?: string
  /** Names that go there as they are; those without a star are listed to clients. All others go there as `name/…`. */
  readonly models: readonly string[]
  /** One of those that only go there as `name/…`, to be listed to clients. */
  readonly example?: string
}

const provider = (
  name: string,
  make: (options: { apiKey: string; baseURL?: string }) => Upstream,
  models: readonly string[],
  facts: { keys?: readonly string[]; example?: string } = {},
): EnvProvider => {
  const prefix = name.toUpperCase()
  const { keys = [], ...rest } = facts
  return {
    name,
    keys: [`${prefix}_API_KEY`, ...keys],
    address: `${prefix}_BASE_URL`,
    upstream: make,
    models,
    ...rest,
  }
}

/** The providers of the environment. Of two that know a name the first gets it. */
export const envProviders: readonly EnvProvider[] = [
  provider('openai', core.openai, ['gpt-5', 'gpt-*', 'chatgpt-*', 'codex-*', 'o1*', 'o3*', 'o4*']),
  provider('anthropic', core.anthropic, ['claude-opus-5', 'claude-*']),
  provider('gemini', core.gemini, ['gemini-3-flash', 'gemini-*'], { keys: ['GOOGLE_API_KEY'] }),
  provider('mistral', core.mistral, ['mistral-large-latest', 'mistral-*', 'ministral-*', 'codestral-*', 'magistral-*']),
  provider('deepseek', core.deepseek, ['deepseek-chat', 'deepseek-*']),
  provider('xai', core.xai, ['grok-4', 'grok-*']),
  provider(
    'cohere',
    core.cohere,
    ['command-a-03-2025', 'command-*', 'embed-v4.0', 'embed-*', 'rerank-v3.5', 'rerank-*'],
    {
      keys: ['CO_API_KEY'],
    },
  ),
  provider('perplexity', core.perplexity, ['sonar', 'sonar-*']),
  provider('voyage', core.voyage, ['voyage-3.5', 'voyage-*']),
  provider('jina', core.jina, ['jina-embeddings-v3', 'jina-*']),
  provider('groq', core.groq, [], { example: 'openai/gpt-oss-120b' }),
  provider('cerebras', core.cerebras, [], { example: 'gpt-oss-120b' }),
  provider('together', core.together, [], { example: 'openai/gpt-oss-120b' }),
  provider('fireworks', core.fireworks, [], { example: 'accounts/fireworks/models/gpt-oss-120b' }),
  {
    name: 'azure',
    keys: ['AZURE_OPENAI_API_KEY'],
    address: 'AZURE_OPENAI_ENDPOINT',
    needs: 'AZURE_OPENAI_ENDPOINT, the address of the resource',
    upstream: ({ apiKey, baseURL }) => (baseURL === undefined ? undefined : core.azure({ apiKey, baseURL })),
    models: [],
  },
  {
    name: 'bedrock',
    keys: ['AWS_BEARER_TOKEN_BEDROCK'],
    address: 'BEDROCK_BASE_URL',
    needs: 'AWS_REGION',
    upstream: (options, { AWS_REGION, AWS_DEFAULT_REGION }) => {
      const region = AWS_REGION || AWS_DEFAULT_REGION
      return region === undefined || region === '' ? undefined : core.bedrock({ ...options, region })
    },
    models: [],
  },
  provider('openrouter', core.openrouter, [], { example: 'openrouter/auto' }),
]

/** What the environment asks for. */
export interface EnvUpstreams {
  readonly upstreams: Record<string, Upstream>
  readonly models: Record<string, ModelRoute>
  /** The variable that each upstream's key is from. */
  readonly keyNames: Record<string, string>
  /** What is set and does nothing. */
  readonly notes: string[]
}

/** The upstreams of the keys in the environment, with the models that go there. Throws an Error that names the variable. */
export function envUpstreams(env: Env): EnvUpstreams {
  const found: EnvUpstreams = { upstreams: {}, models: {}, keyNames: {}, notes: [] }
  for (const one of envProviders) {
    const keyName = one.keys.find((name) => env[name])
    const baseURL = env[one.address] || undefined
    if (keyName === undefined) {
      if (baseURL !== undefined) found.notes.push(`${one.address} is ignored, because ${one.keys[0]} is not set`)
      continue
    }
    const upstream = make(
      one,
      keyName,
      { apiKey: env[keyName] ?? '', ...(baseURL === undefined ? {} : { baseURL }) },
      env,
    )
    if (upstream === undefined) {
      found.notes.push(`${keyName} is ignored, because it also takes ${one.needs}`)
      continue
    }
    found.upstreams[one.name] = upstream
    found.keyNames[one.name] = keyName
    for (const [model, route] of Object.entries(routesOf(one))) found.models[model] ??= route
  }
  return found
}

function make(
  provider: EnvProvider,
  keyName: string,
  options: { apiKey: string; baseURL?: string },
  env: Env,
): Upstream | undefined {
  const upstream = provider.upstream(options, env)
  if (upstream?.problems === undefined) return upstream
  const named = upstream.problems.map((problem) =>
    problem.startsWith('baseURL') ? `${provider.address}: ${problem}` : `${keyName}: ${problem}`,
  )
  throw new OutsideError(named.join('; '))
}

/** The well-known names of a provider's models, and each of its models as `name/…`. */
function routesOf({ name, models, example }: EnvProvider): Record<string, ModelRoute> {
  const routes: Record<string, ModelRoute> = {}
  for (const model of models) routes[model] = name
  if (example !== undefined) routes[prefixed(name, example)] = { upstream: name, model: example }
  routes[`${name}/*`] = { upstream: name, model: '*' }
  // It names models `vendor/model`: those that nobody else is here for.
  if (name === 'openrouter') routes['*/*'] = name
  return routes
}

const prefixed = (name: string, model: string): string => (model.startsWith(`${name}/`) ? model : `${name}/${model}`)
