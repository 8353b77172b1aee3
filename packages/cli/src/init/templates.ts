import { createExample } from '@modelgate/core/catalog'
import type { EnvProvider } from '../config/env-providers.ts'

/** An upstream as a new configuration is to have it. */
export interface Chosen {
  readonly provider: EnvProvider
  /** The variable of its key. */
  readonly keyName: string
}

/** Names that go to an upstream: a well-known one as it is, or `groq/*`. */
const patternsOf = ({ name, environment: { models = [] } }: EnvProvider): string[] => {
  const stars = models.filter((model) => model.includes('*'))
  return stars.length > 0 ? stars : [`${name}/*`]
}

const exampleOf = ({ environment: { models = [], exampleModel } }: EnvProvider): string =>
  models.find((model) => !model.includes('*')) ?? exampleModel ?? 'the-model'

/** Whether the provider has a chat format. */
const canChat = (provider: EnvProvider): boolean => Object.keys(createExample(provider).formats).length > 0

/** The options that a configuration must name, with the variable of each. */
const optionsOf = ({ provider: { environment }, keyName }: Chosen): (readonly [option: string, variable: string])[] => [
  ['apiKey', keyName],
  ...Object.entries(environment.required ?? {}).map(([option, [variable]]) => [option, variable] as const),
]

/** A configuration in TypeScript or JavaScript. */
export function codeTemplate(chosen: readonly Chosen[]): string {
  const names = chosen.map(({ provider }) => provider.name)
  const [first, second] = chosen.filter(({ provider }) => canChat(provider)).map(({ provider }) => provider)
  return `import { ${[...names, 'defineConfig'].sort().join(', ')} } from 'modelgate'

// Variables are read from the environment, and from .env in this folder. What else can be said here: docs/cli.md.
export default defineConfig({
  // Where calls can go. Keys stay here: no client ever sees them.
  upstreams: {
${chosen.map(upstreamCode).join('\n')}
  },

  // What clients may ask for, and where it goes. A star stands for anything.
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
    : `    // A name of your own${second === undefined ? '' : ': the first that works answers'}.
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

  // Who is let in: MODELGATE_TOKEN, and tokens that are issued with \`npx modelgate tokens issue --name laptop\` into this folder.
  data: 'modelgate-data',

  // port: 8787,
  // host: '0.0.0.0', // everyone who can reach this machine; default: this machine only
  // prices: 'prices.json', // what models cost, for budgets in money
  // ledger: 'ledger', // a record of each call, never its content
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

/** The same as JSON, which has no comments: its schema tells an editor what there is. */
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
