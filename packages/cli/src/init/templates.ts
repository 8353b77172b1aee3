import { createExample } from '@modelgate/core/catalog'
import type { EnvProvider } from '../config/env-providers.ts'

/** An upstream of a new configuration. */
export interface Chosen {
  readonly provider: EnvProvider
  /** Environment variable of its key. */
  readonly keyName: string
}

/** Returns the model names of an upstream: well-known names unchanged, else `groq/*`. */
const patternsOf = ({ name, environment: { models = [] } }: EnvProvider): string[] => {
  const stars = models.filter((model) => model.includes('*'))
  return stars.length > 0 ? stars : [`${name}/*`]
}

const exampleOf = ({ environment: { models = [], exampleModel } }: EnvProvider): string =>
  models.find((model) => !model.includes('*')) ?? exampleModel ?? 'the-model'

/** Returns true if the provider has a chat format. */
const canChat = (provider: EnvProvider): boolean => Object.keys(createExample(provider).formats).length > 0

/** Returns the required options with the variable of each. */
const optionsOf = ({ provider: { environment }, keyName }: Chosen): (readonly [option: string, variable: string])[] => [
  ['apiKey', keyName],
  ...Object.entries(environment.required ?? {}).map(([option, [variable]]) => [option, variable] as const),
]

/** Returns a configuration in TypeScript or JavaScript. */
export function codeTemplate(chosen: readonly Chosen[]): string {
  const names = chosen.map(({ provider }) => provider.name)
  const [first, second] = chosen.filter(({ provider }) => canChat(provider)).map(({ provider }) => provider)
  return `import { ${[...names, 'defineConfig'].sort().join(', ')} } from 'modelgate'

// Variables are read from the environment and from .env in this folder. All settings: docs/reference/cli.md.
export default defineConfig({
  // Upstreams that serve calls. Their keys stay here; clients never see them.
  upstreams: {
${chosen.map(upstreamCode).join('\n')}
  },

  // Models that clients may use, with their upstreams. A star matches any text.
  models: {
${routesOf(chosen)
  .map(
    ([model, route]) =>
      `    '${model}': ${typeof route === 'string' ? `'${route}'` : `{ upstream: '${route.upstream}', model: '*' }`},`,
  )
  .join('\n')}
${
  first === undefined
    ? ''
    : `    // Your own name${second === undefined ? '' : '; the second target is the fallback'}.
    fast: ${
      second === undefined
        ? `{ upstream: '${first.name}', model: '${exampleOf(first)}' }`
        : `[
      { upstream: '${first.name}', model: '${exampleOf(first)}' },
      { upstream: '${second.name}', model: '${exampleOf(second)}' },
    ]`
    },
`
}  },

  // Accepted API keys: MODELGATE_TOKEN, and tokens issued into this folder with \`npx modelgate tokens issue --name laptop\`.
  data: 'modelgate-data',

  // port: 8787,
  // host: '0.0.0.0', // all interfaces; default: this machine only
  // prices: 'prices.json', // prices of models, for budgets in money
  // ledger: 'ledger', // a record of each call, without content
})
`
}

const upstreamCode = (one: Chosen): string => {
  const { name } = one.provider
  // Without `?? ''` on the key, a missing variable is reported with its name at start.
  return `    ${name}: ${name}({ ${optionsOf(one)
    .map(([option, variable]) => `${option}: process.env.${variable}${option === 'apiKey' ? '' : " ?? ''"}`)
    .join(', ')} }),`
}

type SimpleRoute = string | { readonly upstream: string; readonly model: string }

function routesOf(chosen: readonly Chosen[]): [string, SimpleRoute][] {
  const routes = new Map<string, SimpleRoute>()
  for (const { provider } of chosen)
    for (const pattern of patternsOf(provider))
      if (!routes.has(pattern))
        routes.set(pattern, pattern.includes('/') ? { upstream: provider.name, model: '*' } : provider.name)
  return [...routes]
}

/** Returns the configuration as JSON. Editors document it with its schema. */
export function jsonTemplate(chosen: readonly Chosen[], schema: string): string {
  const config = {
    $schema: schema,
    upstreams: Object.fromEntries(
      chosen.map((one) => [
        one.provider.name,
        {
          provider: one.provider.name,
          ...Object.fromEntries(optionsOf(one).map(([option, variable]) => [option, `\${${variable}}`])),
        },
      ]),
    ),
    models: Object.fromEntries(routesOf(chosen)),
    data: 'modelgate-data',
  }
  return `${JSON.stringify(config, null, 2)}\n`
}
