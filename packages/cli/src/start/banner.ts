import type { Settings } from '../config/settings.ts'
import { targetsOf } from '../config/targets.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { indent } from '../terminal/format.ts'
import { type CurlToken, curlLines } from './curl-lines.ts'
import { routesTable } from './routes-table.ts'

/** Returns the server's address for clients on this machine. */
function rootUrl({ host, gateway }: Pick<Settings, 'host' | 'gateway'>, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}${gateway.basePath ?? ''}`
}

/**
 * Returns the startup message. On a terminal, the link to the Playground contains a token that was generated for this run, so that a click
 * is enough. A configured token is never part of it.
 */
export function banner(
  settings: Settings,
  port: number,
  { isTerminal = false }: Pick<CommandContext, 'isTerminal'> = {},
): string {
  const { pages, details: facts, demo, notes, gateway, admin } = settings
  const root = rootUrl(settings, port)
  const token = curlToken(settings)
  const lines: (readonly [string, string])[] = [
    ...(pages.home ? [['Home page', `${root}/`] as const] : []),
    ...(pages.playground
      ? [['Playground', `${root}/console/playground${isTerminal ? tokenFragment(settings) : ''}`] as const]
      : []),
    ...adminPages(settings).map(
      (name, at) => [name, `${root}/console/${name.toLowerCase()}${adminText(admin, at === 0)}`] as const,
    ),
    ['OpenAI clients', `base URL ${root}/v1`],
    ['Anthropic clients', `base URL ${root}`],
    ['Google clients', `base URL ${root}`],
    ['Token', tokenText(settings)],
    ...facts,
  ]
  return [
    `Modelgate listens on ${root}`,
    '',
    ...lines.map(([name, value]) => `  ${name.padEnd(19)}${value}`),
    '',
    indent(routesTable(gateway)),
    ...(demo
      ? [
          '',
          'Demo mode: no provider key is set. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or another key to use real models.',
        ]
      : []),
    ...[...notes, ...selfReferences(gateway, port)].flatMap((note) => ['', `Note: ${note}.`]),
    '',
    settings.token !== undefined && settings.tokenFrom === 'environment'
      ? 'Try it in a shell with MODELGATE_TOKEN set:'
      : 'Try it:',
    '',
    ...(token !== 'none' && 'variable' in token && token.variable === 'TOKEN' ? ['TOKEN=mg-…'] : []),
    ...curlLines(root, token, chatModels(gateway)),
    '',
  ].join('\n')
}

/** Browsers keep a fragment to themselves, and the Playground removes it from the address bar. */
const tokenFragment = ({ token, tokenFrom }: Settings): string =>
  token === undefined || tokenFrom !== 'run' ? '' : `#token=${encodeURIComponent(token)}`

const adminPages = ({ pages }: Settings): readonly string[] => [
  ...(pages.calls ? ['Calls'] : []),
  ...(pages.usage ? ['Usage', 'Tokens'] : []),
]

/** A browser does not send the fragment, and the page removes it from the address bar. */
const adminText = (admin: Settings['admin'], isFirst: boolean): string =>
  admin?.from === 'run'
    ? `#token=${admin.token}${isFirst ? '  (generated for this run; set MODELGATE_ADMIN_TOKEN for a permanent one)' : ''}`
    : ''

/** Returns a note for each upstream that is this server: a client setting such as OPENAI_BASE_URL was set for the server too. */
const selfReferences = ({ upstreams }: Settings['gateway'], port: number): string[] =>
  Object.entries(upstreams)
    .filter(([, { baseURL }]) => {
      const url = new URL(baseURL)
      return Number(url.port) === port && /^(localhost|127\.|\[::1\]|0\.0\.0\.0)/.test(url.hostname)
    })
    .map(([name, { baseURL }]) => `the upstream ${name} is this server itself (${baseURL}): its calls would loop`)

function curlToken({ token, tokenFrom, gateway }: Settings): CurlToken {
  if (token === undefined) return gateway.auth === 'none' ? 'none' : { variable: 'TOKEN' }
  if (tokenFrom === 'run') return { token }
  return { variable: tokenFrom === 'environment' ? 'MODELGATE_TOKEN' : 'TOKEN' }
}

function tokenText({ token, tokenFrom, issueCommand, gateway }: Settings): string {
  if (token !== undefined) {
    if (tokenFrom === 'run') return `${token}  (generated for this run; set MODELGATE_TOKEN for a permanent one)`
    return tokenFrom === 'environment' ? 'the value of MODELGATE_TOKEN' : "the configuration's token"
  }
  if (gateway.auth === 'none') return 'not required'
  return issueCommand === undefined ? 'any credential that the configured auth accepts' : `issue one: ${issueCommand}`
}

/** Returns the names of models with a chat format, preferring names without a star. */
function chatModels({ models, upstreams }: Settings['gateway']): string[] {
  const names = Object.entries(models)
    .filter(([, route]) =>
      targetsOf(route).some(({ upstream }) => Object.keys(upstreams[upstream]?.formats ?? {}).length > 0),
    )
    .map(([name]) => name)
  const exact = names.filter((name) => !name.includes('*'))
  return exact.length > 0 ? exact : names.slice(0, 1).map((name) => name.replaceAll('*', 'your-model'))
}
